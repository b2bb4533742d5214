package pii

import (
	"strings"
	"unicode"
)

// memberHint tells what the name of a member, or the words before a value, say of the value. Empty: nothing.
func memberHint(name string) Type {
	if len(name) > 64 {
		return ""
	}
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, s := range []string{"password", "passwd", "passphrase", "apikey", "secretkey", "clientsecret", "accesstoken", "refreshtoken",
		"accountkey", "sharedaccesskey", "encryptionkey", "signingkey", "masterkey", "authkey", "sharedsecret", "signingsecret",
		"webhooksecret", "apitoken", "bottoken", "deploytoken", "securitytoken", "servicetoken", "registrationtoken", "apppassword", "appsecret", "appkey", "secretkeybase", "consumersecret", "idtoken", "authtoken", "bearertoken", "sessiontoken", "privatekey", "secretaccesskey"} {
		if strings.HasSuffix(plain, s) {
			return Secret
		}
	}
	if hint := plainHint(plain); hint != "" {
		return hint
	}
	return endHint(name, plain)
}

// plainHint is what a name says as a whole.
func plainHint(plain string) Type {
	switch plain {
	case "pwd", "pass", "passwort", "kennwort", "contraseña", "senha", "motdepasse", "пароль", "パスワード", "密码", "secret", "authorization", "cookie", "setcookie", "xapikey":
		return Secret
	case "tel", "telephone", "cell", "fax", "msisdn", "whatsapp", "telefon", "telefono", "teléfono", "téléphone", "telefone", "telefax",
		"handy", "móvil", "movil", "celular", "cellulare", "portable", "gsm", "телефон", "phoneno", "mobileno", "contactno", "contactnumber":
		return Phone
	case "ssn", "socialsecurity":
		return SSN
	case "ver", "oid", "rev", "release", "build", "firmware", "section":
		return ofVersion
	case "messageid", "inreplyto", "references":
		return ofMessage
	}
	for _, end := range phoneEnds {
		if strings.HasSuffix(plain, end) {
			return Phone
		}
	}
	return ""
}

// endHint is what the end of a name says. Plain is the name in small letters, without what stands between its words.
func endHint(name, plain string) Type {
	switch {
	case strings.HasSuffix(plain, "pass") && strings.HasSuffix(strings.ToLower(name), "_pass"):
		return Secret
	case strings.HasSuffix(plain, "phone"), strings.HasSuffix(plain, "phonenumber"), strings.HasSuffix(plain, "mobile"),
		strings.HasSuffix(plain, "mobilenumber"), strings.HasSuffix(plain, "faxnumber"), strings.HasSuffix(plain, "phones"),
		strings.HasSuffix(plain, "telefonnummer"), strings.HasSuffix(plain, "whatsappnumber"), strings.HasSuffix(plain, "cellnumber"), strings.HasSuffix(plain, "telephonenumber"):
		return Phone
	case strings.HasSuffix(plain, "ssn"), strings.HasSuffix(plain, "socialsecuritynumber"):
		return SSN
	case strings.HasSuffix(plain, "version"), strings.HasSuffix(plain, "versions"):
		return ofVersion
	}
	if strings.Contains(plain, "card") || strings.HasPrefix(plain, "pan") || strings.Contains(plain, "payment") {
		return ""
	}
	stem := plain
	for _, end := range []string{"number", "no", "nr"} {
		stem = strings.TrimSuffix(stem, end)
	}
	for _, end := range []string{"order", "tracking", "transaction", "invoice", "shipment", "ticket", "serial", "part", "reference", "timestamp"} {
		if stem == end || len(stem) < len(plain) && strings.HasSuffix(stem, end) {
			return ofThing
		}
	}
	if last := strings.TrimRight(name, "s"); plain == "id" || strings.HasSuffix(last, "Id") || strings.HasSuffix(last, "ID") ||
		strings.HasSuffix(last, "_id") || strings.HasSuffix(last, "-id") || strings.HasSuffix(last, ".id") {
		return ofIdentifier
	}
	return ""
}

// isSecretValue tells a secret from a word that describes one, as schemas and forms have it, and from a place for one, as
// documentation does.
func isSecretValue(s string) bool {
	switch strings.ToLower(s) {
	case "", "string", "password", "passwd", "pass", "secret", "none", "null", "nil", "true", "false", "yes", "no", "required", "optional", "redacted", "hidden",
		"bearer", "basic", "text", "changeme", "change-me", "change_me", "unset", "set", "undefined", "empty", "todo", "tbd", "masked", "removed", "filtered",
		"test", "example", "sample", "demo", "dummy", "default":
		return false
	}
	return strings.Trim(s, "*•xX.") != "" && !isToken(s) && !isPlaceholder(s) && (strings.Count(s, "/") < 2 || random(s))
}

// isPlaceholder tells whether a text stands in the place of a secret: ${SECRET}, <token>, YOUR_API_KEY, sk_live_...
func isPlaceholder(s string) bool {
	if len(s) > 80 {
		return false
	}
	last := s[len(s)-1]
	switch {
	case s[0] == '<' && last == '>', s[0] == '[' && last == ']', s[0] == '{' && last == '}', s[0] == '%' && last == '%',
		strings.HasPrefix(s, "${"), strings.HasPrefix(s, "$("), strings.HasPrefix(s, "#{"), strings.HasPrefix(s, "%("), strings.HasPrefix(s, "<%"):
		return true
	case strings.HasSuffix(s, "..."), strings.HasSuffix(s, "…"), strings.Contains(s, "EXAMPLE"), strings.Contains(s, "&lt;"), strings.Contains(s, "xxxxxx"), strings.Contains(s, "XXXXXX"):
		return true
	}
	if len(s) < 4 || s[0]|0x20 != 'y' && s[0]|0x20 != 'm' && s[0]|0x20 != 'i' && s[0]|0x20 != 'r' {
		return false
	}
	low := strings.ToLower(s)
	for _, word := range []string{"your", "my", "insert", "replace"} {
		if rest, ok := strings.CutPrefix(low, word); ok && rest != "" && !isAlnum(rest[0]) && !strings.ContainsAny(rest, "0123456789") {
			return true
		}
	}
	return false
}

// isToken tells whether a text is one of our tokens.
func isToken(s string) bool {
	return len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' && strings.Trim(s[1:len(s)-1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}
