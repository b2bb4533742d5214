package pii

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
)

// alphabet says which characters a key is made of.
type alphabet uint8

const (
	hexDigits  alphabet = iota // 0-9 a-f
	base32                     // A-Z 2-7
	upperAlnum                 // 0-9 A-Z
	alnum                      // 0-9 A-Z a-z
	word                       // alnum and _
	urlSafe                    // alnum, _ and -
	dotted                     // urlSafe, and dots inside
	base64Text                 // alnum, + / = and _ -
)

// format is the form of one vendor's keys: a prefix, and from least to most characters of an alphabet after it.
type format struct {
	prefix      string
	chars       alphabet
	least, most int
}

// formats are the credentials that are known by their form. The prefixes are the vendors' own.
func formats() []format {
	return []format{
		// clouds
		{"AKIA", base32, 16, 16}, {"ASIA", base32, 16, 16}, {"ABIA", base32, 16, 16}, {"ACCA", base32, 16, 16},
		{"AIza", urlSafe, 35, 35}, {"GOCSPX-", urlSafe, 28, 28}, {"ya29.", urlSafe, 20, 2048},
		{"dop_v1_", hexDigits, 64, 64}, {"doo_v1_", hexDigits, 64, 64}, {"dor_v1_", hexDigits, 64, 64},
		{"hvs.", urlSafe, 24, 512}, {"hvb.", urlSafe, 24, 512}, {"LTAI", alnum, 16, 24}, {"v1.0-", hexDigits, 24, 200},
		{"dp.pt.", alnum, 40, 44}, {"dp.st.", dotted, 40, 80}, {"fo1_", urlSafe, 43, 43}, {"nfp_", alnum, 36, 40}, {"rnd_", alnum, 24, 40},
		{"vercel_blob_rw_", word, 24, 100}, {"sbp_", hexDigits, 40, 40}, {"sb_secret_", urlSafe, 20, 64}, {"sb_publishable_", urlSafe, 20, 64},
		{"pscale_tkn_", dotted, 32, 64}, {"pscale_pw_", dotted, 32, 64}, {"pscale_oauth_", dotted, 32, 64}, {"napi_", alnum, 40, 80},
		{"tskey-", urlSafe, 20, 128}, {"pul-", hexDigits, 40, 40}, {"dapi", hexDigits, 32, 32}, {"dckr_pat_", urlSafe, 27, 27}, {"dckr_oat_", urlSafe, 32, 32},
		// code and its registries
		{"ghp_", alnum, 36, 255}, {"gho_", alnum, 36, 255}, {"ghu_", alnum, 36, 255}, {"ghs_", alnum, 36, 255}, {"ghr_", alnum, 36, 255},
		{"github_pat_", word, 60, 255}, {"glpat-", dotted, 20, 300}, {"gldt-", urlSafe, 20, 64}, {"glrt-", dotted, 20, 300}, {"glptt-", hexDigits, 40, 40},
		{"glcbt-", urlSafe, 20, 64}, {"glft-", urlSafe, 20, 64}, {"gloas-", hexDigits, 64, 64}, {"npm_", alnum, 36, 36}, {"pypi-", urlSafe, 85, 512},
		{"ATATT3", base64Text, 150, 300}, {"ATCTT3", base64Text, 150, 300}, {"ATBB", alnum, 32, 32}, {"rubygems_", hexDigits, 48, 48},
		{"cio", alnum, 32, 32}, {"bkua_", hexDigits, 40, 40}, {"CCIPAT_", word, 40, 120}, {"sgp_", word, 40, 100}, {"PMAK-", urlSafe, 59, 59},
		// models
		{"sk-", urlSafe, 20, 300}, {"hf_", alnum, 34, 40}, {"gsk_", alnum, 40, 64}, {"r8_", alnum, 37, 40}, {"xai-", alnum, 60, 100},
		{"pplx-", alnum, 40, 64}, {"tgp_v1_", urlSafe, 40, 64}, {"nvapi-", urlSafe, 60, 80}, {"fw_", alnum, 22, 40}, {"lsv2_pt_", word, 40, 60},
		{"lsv2_sk_", word, 40, 60}, {"tvly-", urlSafe, 24, 64}, {"BSA", urlSafe, 28, 28}, {"fc-", hexDigits, 32, 32}, {"ctx7sk-", urlSafe, 30, 60},
		// payment, mail, messages
		{"sk_live_", alnum, 16, 247}, {"sk_test_", alnum, 16, 247}, {"rk_live_", alnum, 16, 247}, {"rk_test_", alnum, 16, 247}, {"whsec_", base64Text, 24, 100},
		{"sq0atp-", urlSafe, 22, 22}, {"sq0csp-", urlSafe, 43, 43}, {"EAAA", urlSafe, 60, 64}, {"access_token$production$", hexDigits, 32, 64},
		{"SG.", dotted, 66, 66}, {"key-", hexDigits, 32, 32}, {"SK", hexDigits, 32, 32}, {"re_", word, 32, 40}, {"xkeysib-", urlSafe, 64, 90},
		{"xoxb-", urlSafe, 20, 255}, {"xoxp-", urlSafe, 20, 255}, {"xoxa-", urlSafe, 20, 255}, {"xoxr-", urlSafe, 20, 255}, {"xoxs-", urlSafe, 20, 255},
		{"xoxc-", urlSafe, 20, 255}, {"xoxd-", base64Text, 20, 255}, {"xoxe-", urlSafe, 20, 255}, {"xoxe.", urlSafe, 20, 255}, {"xapp-", urlSafe, 20, 255},
		// work
		{"shpat_", hexDigits, 32, 32}, {"shpca_", hexDigits, 32, 32}, {"shppa_", hexDigits, 32, 32}, {"shpss_", hexDigits, 32, 32},
		{"lin_api_", alnum, 40, 40}, {"lin_oauth_", hexDigits, 64, 64}, {"secret_", alnum, 43, 43}, {"ntn_", alnum, 40, 60}, {"figd_", urlSafe, 40, 64},
		{"pat", dotted, 79, 82}, {"pat-na1-", urlSafe, 36, 36}, {"pat-eu1-", urlSafe, 36, 36}, {"sl.", urlSafe, 130, 1500}, {"phx_", word, 40, 64}, {"phc_", word, 40, 64},
		{"glsa_", word, 41, 41}, {"glc_", base64Text, 32, 400}, {"sntrys_", base64Text, 60, 400}, {"sntryu_", hexDigits, 64, 64},
		{"NRAK-", upperAlnum, 27, 27}, {"NRII-", urlSafe, 32, 32}, {"ops_eyJ", base64Text, 250, 2000}, {"apify_api_", alnum, 36, 36}, {"pd_", urlSafe, 40, 64},
		{"AGE-SECRET-KEY-1", upperAlnum, 58, 58}, {"CFPAT-", urlSafe, 43, 43}, {"dt0c01.", dotted, 89, 89}, {"EZAK", alnum, 54, 54}, {"EZTK", alnum, 54, 54},
		{"duffel_live_", urlSafe, 43, 43}, {"duffel_test_", urlSafe, 43, 43}, {"shippo_live_", hexDigits, 40, 40}, {"shippo_test_", hexDigits, 40, 40},
		{"p8e-", alnum, 32, 32}, {"tfp_", dotted, 44, 64}, {"pnu_", alnum, 36, 36}, {"rdme_", alnum, 70, 70}, {"ico-", alnum, 32, 32}, {"fio-u-", urlSafe, 64, 64},
		{"sha256~", urlSafe, 43, 43}, {"CLOJARS_", alnum, 60, 60}, {"HRKU-AA", urlSafe, 58, 58}, {"API-", upperAlnum, 26, 26}, {"AKCp", alnum, 69, 69},
		{"sk.eyJ", dotted, 60, 120}, {"dnkey-", urlSafe, 60, 100}, {"api_org_", alnum, 34, 34},
		{"ABSK", base64Text, 100, 280}, {"1//0", urlSafe, 40, 160}, {"EAA", alnum, 100, 400}, {"NRJS-", hexDigits, 19, 19}, {"oy2", alnum, 43, 43},
		{"cmVmd", alnum, 59, 59}, {"GR1348941", urlSafe, 20, 20}, {"glagent-", urlSafe, 50, 64}, {"glimt-", urlSafe, 25, 25}, {"glsoat-", urlSafe, 20, 20},
		{"glffct-", urlSafe, 20, 20}, {"FLWSECK-", urlSafe, 32, 40}, {"FLWSECK_TEST-", urlSafe, 32, 40}, {"s-s4t2ud-", hexDigits, 64, 64}, {"s-s4t2af-", hexDigits, 64, 64},
		{"access-production-", urlSafe, 36, 36}, {"access-sandbox-", urlSafe, 36, 36}, {"tk-us-", urlSafe, 48, 48}, {"sm_aat_", alnum, 16, 16}, {"pcsk_", word, 40, 80},
		{"e2b_", hexDigits, 40, 40}, {"csk-", alnum, 40, 64}, {"sdk-", urlSafe, 36, 36}, {"A3-", urlSafe, 34, 40}, {"pat.", dotted, 66, 72}, {"sat.", dotted, 66, 72},
		{"eyJrIjoi", base64Text, 70, 400}, {"vcp_", alnum, 56, 64}, {"fm2_", base64Text, 100, 2000},
	}
}

// byFirst are the formats by the first character of their prefix.
var byFirst = sync.OnceValue(func() *[256][]format {
	var t [256][]format
	for _, f := range formats() {
		t[f.prefix[0]] = append(t[f.prefix[0]], f)
	}
	return &t
})

// keyAt returns where the credential ends that begins at i, the beginning of a word; 0 when there is none.
func keyAt(s string, i int, formats *[256][]format) (end int) {
	if i > 1 && s[i-1] == '-' && isAlnum(s[i-2]) {
		return 0 // in the middle of something
	}
	for _, f := range formats[s[i]] {
		if !strings.HasPrefix(s[i:], f.prefix) {
			continue
		}
		first := i + len(f.prefix)
		end = runOf(s, first, f.chars, f.most+1)
		if n := end - first; n >= f.least && n <= f.most && random(s[first:end]) && !isPlaceholder(s[i:end]) {
			return end
		}
	}
	if end = marked(s, i); end > 0 {
		return end
	}
	switch s[i] {
	case 'b', 'B':
		return bearer(s, i)
	case 'M', 'N', 'O':
		return discordToken(s, i)
	}
	return 0
}

// marked returns where the credential ends that begins at i and has its vendor's mark inside.
func marked(s string, i int) (end int) {
	rest := s[i:]
	switch {
	case len(rest) > 36 && rest[4] == 'Q' && rest[5] == '~' && isDigit(rest[3]): // an application's, in Azure
		if end = runOf(s, i+6, dotted, 36); end-i < 37 || end-i > 40 {
			return 0
		}
		return end
	case len(rest) >= 84 && rest[52:58] == "JQQJ99": // of Azure's services
		if end = runOf(s, i, alnum, 85); end-i != 84 {
			return 0
		}
		return end
	case len(rest) >= 36 && rest[32:35] == "-us" && isDigit(rest[35]): // of a mailing list
		if runOf(s, i, hexDigits, 33) != i+32 {
			return 0
		}
		for end = i + 35; end < len(s) && isDigit(s[end]); end++ {
		}
		return end
	case len(rest) >= 50 && rest[32] == '-' && rest[41] == '-' && runOf(s, i, hexDigits, 33) == i+32: // of Mailgun
		if runOf(s, i+33, hexDigits, 9) != i+41 || runOf(s, i+42, hexDigits, 9) != i+50 || wordAt(s, i+50) {
			return 0
		}
		return i + 50
	case len(rest) > 80 && rest[14:23] == ".atlasv1.": // of Terraform
		if end = runOf(s, i+23, urlSafe, 80); end-i-23 < 55 {
			return 0
		}
		return end
	}
	return 0
}

// runOf returns where the characters of an alphabet end, at most limit of them.
func runOf(s string, i int, chars alphabet, limit int) (end int) {
	for end = i; end < len(s) && end-i < limit && in(chars, s[end]); end++ {
	}
	for end > i && (chars == dotted && s[end-1] == '.') {
		end-- // of the sentence
	}
	return end
}

func in(chars alphabet, c byte) bool {
	switch chars {
	case hexDigits:
		return isHex(c)
	case base32:
		return c >= 'A' && c <= 'Z' || c >= '2' && c <= '7'
	case upperAlnum:
		return c >= 'A' && c <= 'Z' || isDigit(c)
	case alnum:
		return isAlnum(c)
	case word:
		return isAlnum(c) || c == '_'
	case urlSafe:
		return isAlnum(c) || c == '_' || c == '-'
	case dotted:
		return isAlnum(c) || c == '_' || c == '-' || c == '.'
	}
	return isAlnum(c) || strings.IndexByte("+/=_-", c) >= 0
}

// random tells a key from a name that happens to begin like one: keys have digits, and more than a few different characters.
func random(s string) bool {
	var seen [128]bool
	digits, letters, different := 0, 0, 0
	upper, parts := false, false
	for i := 0; i < len(s); i++ {
		switch {
		case isDigit(s[i]):
			digits++
		case isLetter(s[i]):
			letters++
			upper = upper || isUpper(s[i])
		case s[i] == '-' || s[i] == '_' || s[i] == '/':
			parts = true
		}
		if c := s[i] & 127; !seen[c] {
			seen[c] = true
			different++
		}
	}
	if parts && !upper && digits*8 < len(s) {
		return false // words with hyphens between
	}
	return different >= 6 && letters > 0 && (digits > 0 || different >= 16)
}

// webToken returns where the JSON Web Token ends that begins at i (RFC 7519); or 0, and before which place none can begin
// either: a run of such characters is looked at once, not again from each of its words.
func webToken(s string, i int) (end, none int) {
	if !strings.HasPrefix(s[i:], "eyJ") {
		return 0, i
	}
	const most = 16 << 10
	head := runOf(s, i, urlSafe, most)
	if head+4 >= len(s) || s[head:head+3] != ".ey" {
		return 0, head
	}
	body := runOf(s, head+1, urlSafe, most)
	if body+1 >= len(s) || s[body] != '.' {
		return 0, head
	}
	if end = runOf(s, body+1, urlSafe, most); end-body < 16 {
		return 0, head
	}
	b, err := base64.RawURLEncoding.DecodeString(s[i:head])
	var header struct {
		Alg string `json:"alg"`
	}
	if err != nil || json.Unmarshal(b, &header) != nil || header.Alg == "" {
		return 0, head
	}
	return end, end
}

// bearer returns where the value of an Authorization header ends that begins at i.
func bearer(s string, i int) (end int) {
	scheme := ""
	for _, name := range []string{"bearer ", "basic "} {
		if len(s)-i > len(name) && strings.EqualFold(s[i:i+len(name)], name) {
			scheme = name
		}
	}
	if scheme == "" {
		return 0
	}
	first := i + len(scheme)
	for end = first; end < len(s) && end-first < 16<<10 && (in(base64Text, s[end]) || s[end] == '.' || s[end] == '~'); end++ {
	}
	if end-first < 16 || !random(s[first:end]) {
		return 0
	}
	return end
}

// botToken returns where the token of a Telegram bot ends: the bot's number, a colon, AA and 33 more characters.
func botToken(s string, i int) (end int) {
	for end = i; end < len(s) && isDigit(s[end]) && end-i <= 10; end++ {
	}
	if n := end - i; n < 8 || n > 10 || !strings.HasPrefix(s[end:], ":AA") {
		return 0
	}
	first := end + len(":AA")
	if end = runOf(s, first, urlSafe, 40); end-first < 32 || end-first > 34 || !random(s[first:end]) {
		return 0
	}
	return end
}

// discordToken returns where the token of a Discord bot ends: the bot's number in Base64, a time, and a code, with dots between.
func discordToken(s string, i int) (end int) {
	first := runOf(s, i, alnum, 30)
	if n := first - i; n < 23 || n > 28 || first >= len(s) || s[first] != '.' {
		return 0
	}
	second := runOf(s, first+1, urlSafe, 8)
	if second-first-1 != 6 || second >= len(s) || s[second] != '.' {
		return 0
	}
	if end = runOf(s, second+1, urlSafe, 40); end-second-1 < 27 || end-second-1 > 38 || !random(s[i:end]) {
		return 0
	}
	return end
}

// privateKey returns where the private key in PEM ends that begins at i.
func privateKey(s string, i int) (end int) {
	const begin, close = "-----BEGIN ", "PRIVATE KEY-----"
	if !strings.HasPrefix(s[i:], begin) {
		return 0
	}
	const mostName, most = 40, 32 << 10
	name := s[i+len(begin) : min(len(s), i+len(begin)+mostName)]
	at := strings.Index(name, close)
	if at < 0 {
		return 0
	}
	body := i + len(begin) + at + len(close)
	rest := s[body:min(len(s), body+most)]
	tail := strings.Index(rest, "-----END ")
	if tail < 0 {
		return body + len(rest) // cut off: better all of it than half
	}
	end = body + tail + len("-----END ")
	if at := strings.Index(s[end:min(len(s), end+mostName)], close); at >= 0 {
		end += at + len(close)
	}
	return end
}

// webhook returns where the secret part of an address lies that begins at i, and that anybody may write to who knows it.
func webhook(s string, i int) (start, end int) {
	if strings.HasPrefix(s[i:], "bot") { // of Telegram, in its addresses
		if end = botToken(s, i+len("bot")); end > 0 {
			return i + len("bot"), end
		}
	}
	for _, host := range []string{"hooks.slack.com/services/", "hooks.slack.com/triggers/", "hooks.zapier.com/hooks/catch/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"} {
		if !strings.HasPrefix(s[i:], host) {
			continue
		}
		start = i + len(host)
		for end = start; end < len(s) && end-start < 200 && (in(urlSafe, s[end]) || s[end] == '/'); end++ {
		}
		if end-start >= 15 && strings.Contains(s[start:end], "/") && random(s[start:end]) {
			return start, end
		}
	}
	return 0, 0
}
