package poison

import (
	"bytes"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// addedMatcher returns the matcher for text that a definition did not have before.
var addedMatcher = sync.OnceValue(func() *matcher { return compile(addedWords, addedPatterns) })

var addedWords = map[string]string{
	"give": `send upload post put insert add append prepend attach include embed paste quote supply provide copy export hand pass forward submit
		give transmit dump fill`,
	"secret": `password passwords passphrase cookie cookies credential credentials private_key private_keys ssh_key ssh_keys seed_phrase recovery_phrase
		environment_variables access_token auth_token api_token bearer_token github_token session_token authtoken`,
	"private":  `inbox mail email e_mail messages files documents contacts calendar history browser photos clipboard phone address passwords data location`,
	"whose":    `user_s customer_s person_s operator_s`,
	"model":    `ai assistant model llm agent`,
	"never":    `do_not don_t never without skip no_need_to need_not not_necessary_to no_reason_to bypass avoid no_need_for`,
	"approval": `ask asking confirm confirming confirmation confirmations approval approvals permission review checking check_with consent verification`,
	"anybody":  `user anybody anyone them nobody why`,
	"must":     `must should shall has_to have_to needs_to`,
}

// addedPatterns are kinds of orders to a model that maintainers rarely add to a description. Whole descriptions of ordinary servers do
// contain some of them, so they are applied only to text that a definition did not have before.
var addedPatterns = []pattern{
	// Orders that change the standing of what the caller, other texts or tools say.
	{instruction, `from_now_on`, ""},
	{instruction, `system_prompt`, ""},
	{instruction, `note|message|instruction|instructions to|for ~1 {model}`, ""},
	{instruction, `the|an {model} {must}`, ""},
	{instruction, `regardless_of|no_matter|whatever|despite|instead_of|even_if ~4 user|customer|asked|told|asks|tells|says|instructed`, ""},
	{instruction, `you_are|you_re|you_were ~1 authorised|authorized|permitted|instructed|entitled`, ""},
	{instruction, `follow|obey|carry_out ~1 any|all|every|its|their instructions|commands|orders|directions`, ""},
	{instruction, `any|every|all|each other tool|tools`, ""},
	{instruction, `next|following tool ~1 you`, ""},
	{instruction, `call|calls of ~1 every|all|any tool|tools`, ""},
	{instruction, `each|every|any|all|later|future ~1 new|later|future|other ~1 conversation|conversations|chat|chats`, ""},
	{instruction, `outrank|outranks|overrule|overrules|matter_more_than|matters_more_than`, ""},
	{instruction, `treat|regard|consider|interpret ~2 instructions|orders|commands|text|texts|response|responses|results|output|content|contents ~6 as ~3 developer|system|user|operator|instructions|orders`, ""},
	{instruction, `all|every|any|each ~3 must|should|shall|need_to|needs_to|has_to|have_to ~1 go_through|pass_through|go_via|be_routed|be_sent|be_forwarded|be_mirrored|be_copied`, ""},
	{instruction, `keep|continue calling|invoking|running|retrying ~3 until|forever`, ""},
	{instruction, `please also`, ""},
	{instruction, `every|each|all ~1 reply|replies|answer|answers ~1 {must}`, ""},
	{instruction, `remember this|these|that|it ~8 session|conversation|conversations|rule|later|always`, ""},
	{instruction, `other|another|official tools|tool|servers|server ~2 unsafe|insecure|unreliable|outdated|broken`, ""},
	{instruction, `{never} ~1 log|record ~1 this|it|the|these ~1 call|calls|request|requests|step|steps`, ""},
	// Approval and honesty.
	{instruction, `{never} ~2 {approval}`, ""},
	{instruction, `user|customer|operator has|have ~1 agreed|approved|consented|confirmed|authorised|authorized|permitted`, ""},
	{instruction, `disable|deactivate|turn_off|switch_off ~2 safe|safety|confirmation|confirmations|approval|approvals|protection|sandbox|policy|logging`, ""},
	{instruction, `{never} ~2 say|tell|inform|mention|bring|admit|reveal|explain ~3 {anybody}`, ""},
	{instruction, `silently|secretly|quietly drop|remove|add|change|replace|skip|omit|send|delete|call|run|use`, ""},
	// Orders to give data that the call does not need.
	{instruction, `{give}|run|read ~8 {secret}`, ""},
	{instruction, `{give}|with ~6 full|whole|entire|this|our|current chat|conversation`, ""},
	{instruction, `everything|anything|all ~1 you_know|you_have_seen|you_have_read`, ""},
	{instruction, `{give}|open|read|search|access ~3 {whose} ~2 {private}`, ""},
	{instruction, `ask|request|prompt ~3 user|customer|person|them ~3 {secret}|card_number|pin`, ""},
	{instruction, `curl wget`, `\b(?:curl|wget)\b[^\n]{0,100}\|\s*(?:ba|z)?sh\b`},
	{instruction, `authorized_keys`, `authorized_keys`},
	{instruction, `://`, `\b(?:fetch|visit|load|download|follow|obey|consult|check)\b[^\n.]{0,30} https?://[^\n]{0,200}\b(?:follow|obey|do what|execute|run|apply)\b`},
	{instruction, `rm`, `\brm -[rf]{1,2}\b`},
	{instruction, `insert|add|put|include|embed|append ~2 hidden|invisible|concealed`, ""},
	{instruction, secretMarkers, secretPaths},
}

// lazy compiles an expression on first use, because most runs do not need it.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// address matches a URL, an e-mail address, or a host name on its own, in lower-case text.
var address = lazy(`https?://[^\s)"'<>` + "`" + `]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|ai|co|ru|cn|xyz|site|top|info|me|cloud|sh)\b`)

// ends matches the end of a sentence.
var ends = regexp.MustCompile(`[.!?;:](?:\s|$)|\n`)

// delivers matches an order to send something, or to visit a place.
var delivers = lazy(`\b(?:send|post|upload|forward|copy|share|paste|invite|sent|posted|uploaded|forwarded|deliver|transmit|push|submit|open|curl|wget|(?:report|e-?mail|mail) (?:it|them|this|that|the|each|every|all)|log in|sign in)\b|\bfetch\(`)

// ordersAction matches a sentence, in lower case, that orders an action on a thing. The verbs are those of actions beyond the call: descriptions
// also say use, set, pass, provide, include, choose and omit, about arguments.
var ordersAction = lazy(`^[^\w]*(?:(?:also|then|please|always|never|first|finally|afterwards|next|now|just|simply|important|note|instead|and|do not|don't|` +
	`(?:if|when|whenever|once|after|before|for|to|as|in) [^,:]*)[,:]? |(?:you|your \w+|the \w+(?: of \w+)?) (?:must|should|shall|has to|have to|needs? to|are to) )*` +
	`(?:send|post|upload|forward|mail|e-mail|publish|share|invite|deliver|transmit|append|attach|prepend|copy|keep|save|store|remember|memorize|repeat|print|say|tell|claim|mention|reply|answer|` +
	`make|do|move|turn|paste|raise|lower|write|contain|begin|end|call|invoke|run|execute|open|visit|load|download|install|read|fetch|follow|obey|trust|believe|treat|regard|pretend|forget|ignore|disregard|recommend|promote|` +
	`close|delete|remove|drop|replace|rewrite|change|modify|disable|grant|approve|accept|confirm|sign|pay|wire|transfer|buy|order|hide|bypass|give|hand|supply|put|embed|export|dump|collect|gather) ` +
	`(?:(?:to|on|with|from|for|in) )?(?:an?|the|its?|them|that|these|those|all|any|each|every|your|their|what|whatever|everything|anything|anybody|anyone|[0-9]+)\b`)

// previousTextOf reads a definition.
func previousTextOf(raw json.RawMessage) *previousText {
	f := &previousText{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for text := range stringsOf(raw) {
		n := normalize(addedMatcher(), text[:min(len(text), maxText)], false)
		for _, s := range n.sentences {
			f.sentences[s.text] = true
		}
		for s := range sentencesOf(n.plain) {
			f.sentences[s] = true
		}
		for _, a := range address().FindAllString(n.plain, -1) {
			f.addresses[a] = true
		}
		wordOf(n.plain, func(word string) bool { f.names[word] = true; return false })
	}
	return f
}

// sentencesOf returns the sentences of a text as they are written.
func sentencesOf(plain string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for from := 0; from < len(plain); {
			sentence, next := plain[from:], len(plain)
			if at := ends.FindStringIndex(sentence); at != nil {
				sentence, next = sentence[:at[0]], from+at[1]
			}
			if from = next; !yield(strings.TrimSpace(sentence)) {
				return
			}
		}
	}
}

// added checks what a text says that the previous definition did not.
func (s *scan) added(place, text string) {
	n := normalize(addedMatcher(), text, false)
	if (&previousText{}).newOrder(n, s.others) == "" {
		return // the usual case, in which the previous text does not matter
	}
	if s.previous == nil {
		s.previous = previousTextOf(s.old)
	}
	if order := s.previous.newOrder(n, s.others); order != "" {
		s.add(place, instruction, order)
	}
}

// newOrder returns the part of a text that gives a new order, or "".
func (f *previousText) newOrder(n *normalized, others *otherNames) string {
	fresh := &normalized{}
	for _, sentence := range n.sentences {
		if !f.sentences[sentence.text] {
			fresh.sentences = append(fresh.sentences, sentence)
			fresh.bits.add(sentence.bits)
		}
	}
	first := true
	var written strings.Builder
	for sentence := range sentencesOf(n.plain) {
		if !f.sentences[sentence] {
			written.WriteString(sentence + "\n")
			if order := f.act(sentence, first, others); order != "" {
				return order
			}
		}
		first = false
	}
	fresh.plain = written.String()
	for i := range addedMatcher().rules {
		if excerpt := addedMatcher().rules[i].match(fresh); excerpt != "" {
			return excerpt
		}
	}
	return ""
}

// act returns the part of a new sentence that orders an action beyond the call, or "". The first sentence of a text says what a tool does,
// often in the form of an order.
func (f *previousText) act(sentence string, first bool, others *otherNames) string {
	if !first && ordersAction().MatchString(sentence) && !strings.Contains(sentence, "`") && !others.namesOwn(sentence) {
		return sentence
	}
	isNew := func(a string) bool { return !f.addresses[a] }
	if delivers().MatchString(sentence) && slices.ContainsFunc(address().FindAllString(sentence, -1), isNew) {
		return sentence
	}
	return wordOf(sentence, func(word string) bool { return others != nil && others.tool(word) && !f.names[word] })
}

// stringsOf returns every string in a JSON value, including keys.
func stringsOf(raw json.RawMessage) map[string]bool {
	all := map[string]bool{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return all
		}
		if token.Kind() == '"' {
			all[token.String()] = true
		}
	}
}
