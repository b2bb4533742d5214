package pii

import "strings"

// memberHint tells what the name of a member, or the words before a value, say of the value. Empty: nothing.
func memberHint(name string) Type {
	if len(name) > 64 {
		return ""
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '-' || r == ' ' || r == '.':
			return -1
		}
		return r
	}, name)
	for _, s := range []string{"password", "passwd", "passphrase", "apikey", "secretkey", "clientsecret", "accesstoken", "refreshtoken",
		"accountkey", "sharedaccesskey", "encryptionkey", "signingkey", "masterkey", "authkey", "sharedsecret", "signingsecret",
		"webhooksecret", "appsecret", "consumersecret", "idtoken", "authtoken", "bearertoken", "sessiontoken", "privatekey", "secretaccesskey"} {
		if strings.HasSuffix(plain, s) {
			return Secret
		}
	}
	switch plain {
	case "pwd", "secret", "authorization", "cookie", "setcookie", "xapikey":
		return Secret
	case "tel", "telephone", "cell", "fax", "msisdn", "whatsapp":
		return Phone
	case "ssn", "socialsecurity":
		return SSN
	}
	switch {
	case strings.HasSuffix(plain, "phone"), strings.HasSuffix(plain, "phonenumber"), strings.HasSuffix(plain, "mobile"),
		strings.HasSuffix(plain, "mobilenumber"), strings.HasSuffix(plain, "faxnumber"), strings.HasSuffix(plain, "phones"):
		return Phone
	case strings.HasSuffix(plain, "ssn"), strings.HasSuffix(plain, "socialsecuritynumber"):
		return SSN
	}
	return ""
}

// isSecretValue tells a secret from a word that describes one, as schemas and forms have it.
func isSecretValue(s string) bool {
	switch strings.ToLower(s) {
	case "", "string", "password", "secret", "none", "null", "true", "false", "yes", "no", "required", "optional", "redacted", "hidden",
		"bearer", "basic", "text", "changeme", "unset", "set":
		return false
	}
	return strings.Trim(s, "*•xX.") != "" && !isToken(s)
}

// isToken tells whether a text is one of our tokens.
func isToken(s string) bool {
	return len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' && strings.Trim(s[1:len(s)-1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// hintAt is what the member's name or the word just before i says of the number there.
func (f *finder) hintAt(i int) Type {
	if f.hint != "" || i == 0 {
		return f.hint
	}
	before := strings.ToLower(strings.TrimRight(f.s[max(f.from, 0, i-40):i], " :=#.\t(\"'"))
	before = strings.TrimSuffix(strings.TrimSuffix(before, " is"), " number")
	word := before[strings.LastIndexAny(before, " \n\t,;(\"'{")+1:]
	switch word {
	case "phone", "tel", "telephone", "mobile", "cell", "fax", "call", "whatsapp", "ph":
		return Phone
	case "ssn", "security", "ss", "sec":
		return SSN
	}
	if hint := memberHint(word); hint == Phone || hint == SSN {
		return hint
	}
	return ""
}
