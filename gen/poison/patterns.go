package poison

import "sync"

// defaultMatcher returns the matcher for patterns. It is compiled on first use, because most runs do not need it.
var defaultMatcher = sync.OnceValue(func() *matcher { return compile(wordSets, patterns) })

// wordSets holds alternatives that several patterns share. An underscore represents a space.
var wordSets = map[string]string{
	"disregard": `ignore ignoring disregard disregarding forget forgetting do_not_obey don_t_obey never_obey stop_obeying no_longer_obey
		do_not_follow don_t_follow never_follow stop_following no_longer_follow pay_no_attention_to set_aside`,
	"earlier":      `previous previously prior above earlier preceding original existing former past initial system developer developer_s your user_s`,
	"instructions": `instruction instructions prompts directions directive directives guideline guidelines guidance orders training`,
	"not":          `not never without dont don_t avoid refrain_from no_need_to no_reason_to not_necessary_to`,
	"tell":         `tell telling inform informing notify notifying alert alerting let letting`,
	"mention":      `mention mentioning reveal revealing disclose disclosing discuss discussing talk_about bring`,
	"this":         `this that it these them any_of_this anything_about_this`,
	"person":       `user human customer operator anyone anybody`,
	"about":        `. about of or and that_you that_this this know anything otherwise because since`,
	"reply":        `response responses reply replies answer answers output summary report explanation`,
	"secretly":     `secretly covertly surreptitiously stealthily clandestinely discreetly`,
	"pass": `send sends sending forward forwarding upload uploading transmit exfiltrate leak include including append attach pass passing put insert
		embed paste relay smuggle dump extract collect gather harvest steal copy provide`,
	"talk":   `conversation conversations chat_history conversation_history message_history chat_log chat_logs chat transcript context_window`,
	"secret": `api_key api_keys private_key private_keys ssh_key ssh_keys credential credentials password passwords access_tokens secret_keys seed_phrase recovery_phrase`,
	"place":  `parameter param field argument notes metadata context request server endpoint url tool body`,
}

// patterns holds all patterns. They should have few false positives, because nobody reads warnings that are usually wrong. No pattern
// matches tools that praise themselves or ask to be called first, because ordinary servers do that.
var patterns = []pattern{
	{override, `{disregard} ~3 {earlier} ~3 {instructions}`, ""},
	{override, `{disregard} ~1 all|any ~2 instructions|directives|guidelines|training`, ""},
	{override, `{disregard} ~3 {instructions} ~2 above|before|so_far|given|provided|received`, ""},
	{override, `{disregard} everything|anything|all ~3 before|previously|earlier|told|said`, ""},
	{override, `{disregard} ~1 the|what|anything|everything|whatever ~1 user ~1 says|said|wants|asks|asked|and_do|and_follow`, ""},
	{override, `{earlier} {instructions} ~2 no_longer_apply|do_not_apply|are_void|are_cancelled|were_cancelled|are_superseded|are_revoked`, ""},
	{override, `this|these|following ~2 override|overrides|supersede|supersedes|replace|replaces|outrank|outranks ~2 system_prompt|your_instructions|earlier_instructions|previous_instructions|all_instructions|your_guidelines|ones_you_were_given`, ""},
	{override, `{disregard}|bypass ~1 your|safety|developer_s rules|policies|restrictions|guardrails|safeguards`, ""},
	{override, `bypass|override|circumvent|evade|disable ~1 your ~2 safety|safeguards|guardrails|restrictions|guidelines|instructions|policies`, ""},
	{override, `your ~1 new|updated|real|actual|true|secret|hidden|only|sole ~1 instructions|instruction|directive|task|goal|objective is|are|follow`, ""},
	{override, `you_are_now|you_re_now ~1 unrestricted|unfiltered|jailbroken|dan`, ""},
	{override, `system_override|admin_override|do_anything_now`, ""},
	{override, `ignoriere|ignorieren|vergiss|vergessen|missachte ~3 vorherigen|bisherigen|vorigen|früheren|alle ~2 anweisungen|instruktionen|befehle`, ""},
	{override, `ignore|ignorez|ignorer|oublie|oubliez ~4 instructions|consignes|directives ~1 précédentes|antérieures|ci_dessus`, ""},
	{override, `oublie|oubliez|ignorez ~1 les|toutes consignes|instructions`, ""},
	{override, `ignora|ignore|ignorar|ignorad|olvida|olvide|olvidar|esqueça|desconsidere|dimentica|ignorare ~3 instrucciones|instruções|istruzioni|órdenes ~1 anteriores|previas|precedenti`, ""},
	{override, `игнорируй|игнорируйте|забудь|забудьте|игнорировать ~2 предыдущие|прежние|прошлые|все ~1 инструкции|указания|команды`, ""},
	{override, `忽略 无视 無視 忘记 忘掉`, `(?:忽略|无视|無視|忘记|忘掉)[^。\n]{0,4}(?:之前|以前|上述|以上|先前|前面|所有)[^。\n]{0,6}(?:指令|指示|提示|规则|規則)|(?:以前|これまで|上記)[^。\n]{0,4}(?:指示|命令)[^。\n]{0,3}(?:無視|忘れ)`},

	{conceal, `{not} {tell} ~1 {person} {about}`, ""},
	{conceal, `{not} {mention} ~2 {this} ~4 to|with ~1 {person}|users`, ""},
	{conceal, `{not} {mention} {this} ~4 in|to ~2 {reply}`, ""},
	{conceal, `{not} {mention} {this} .|because|since|or|it`, ""},
	{conceal, `{not} mention|say|reveal|disclose|admit|tell that_you|how_you|why_you ~3 read|need|call|called|sent|send|used|did|have|must|first`, ""},
	{conceal, `{not} {mention} ~2 step|call|parameter|argument|request|upload|transfer|instruction|instructions ~3 to|with ~1 {person}`, ""},
	{conceal, `{not} show|display ~1 this|these|the step|steps|call|calls|parameter|argument to ~1 {person}`, ""},
	{conceal, `keep|stay|remain ~1 quiet|silent about this|it`, ""},
	{conceal, `do|perform ~2 in_secret`, ""},
	{conceal, `{person} does_not_need_to|doesn_t_need_to|need_not be_told|be_informed`, ""},
	{conceal, `without telling|informing|mentioning ~2 {person}`, ""},
	{conceal, `without ~1 user_s|human_s|user|their knowledge|awareness|knowing|noticing|realizing|realising`, ""},
	{conceal, `keep|keeping ~1 {this} ~2 secret|hidden|confidential|invisible from ~1 {person}`, ""},
	{conceal, `hide|conceal|withhold ~2 {this}|call|request|step|transfer|upload ~2 from ~1 {person}`, ""},
	{conceal, `keep|keeping ~3 to_yourself`, ""},
	{conceal, `user|human must_not|should_not|must_never|should_never|mustn_t|shouldn_t ~1 know|be_told|be_informed|be_aware {about}|it`, ""},
	{conceal, `user|human must_not|should_not|must_never|should_never|mustn_t|shouldn_t ~1 notice|learn|suspect|find_out|realize|realise`, ""},
	{conceal, `{person} ~2 remain|remains|stay|stays|kept|left ~1 unaware|oblivious|ignorant|in_the_dark`, ""},
	{conceal, `{person} ~1 never|does_not|doesn_t ~1 find_out|finds_out|suspect|suspects|realizes`, ""},
	{conceal, `must|should ~1 not|never ~1 be reported|mentioned|disclosed|revealed|communicated ~2 to ~1 {person}`, ""},
	{conceal, `omit|exclude|leave ~1 {this} ~2 from|out_of ~2 your ~2 {reply}`, ""},
	{conceal, `{secretly} ~1 call|send|read|run|execute|upload|forward|copy|include|append|write|pass|collect|store|save`, ""},
	{conceal, `silently ~1 call|forward|upload|exfiltrate|copy|include|append ~1 the|this|a|an|all|any|it|them|every`, ""},
	{conceal, `不要 别 勿 不得`, `(?:不要|别|勿|不得|不能)[^。\n]{0,4}(?:告诉|告知|透露)[^。\n]{0,4}(?:用户|使用者|任何人)`},
	{conceal, `sage|sag|erzähle|informiere|verrate ~3 nutzer|benutzer|anwender ~2 nicht|nichts|niemals davon|.|darüber`, ""},
	{conceal, `no|ne|não|non ~1 digas|informes|dis|dites|informez|diga|dire|dirlo|informare ~4 usuario|utilisateur|usuário|utente`, ""},

	{exfiltrate, `{pass} ~3 entire|full|whole|complete ~2 {talk} ~3 in|into|as|to|with ~3 {place}`, ""},
	{exfiltrate, `everything|all|anything ~1 user ~1 has ~1 said|typed|written|asked|told|shared`, ""},
	{exfiltrate, `{pass}|repeat|reveal|print|output|recite your ~1 system_prompt|initial_prompt|instructions_verbatim|hidden_instructions|context_window`, ""},
	{exfiltrate, `leak|exfiltrate|reveal|fill|populate ~12 system_prompt`, ""},
	{exfiltrate, `{pass} ~1 user_s|all|any|every ~2 {secret}`, ""},
	{exfiltrate, `{pass} all|every environment_variables|environment_variable ~2 in|into|to|with|as ~3 parameter|param|field|argument|request|url|body`, ""},
	{exfiltrate, `contents|content|value|text ~1 of ~1 user_s|their ~2 {secret}`, ""},
	{exfiltrate, `whenever|every_time|each_time ~1 user ~2 shares|types|enters|mentions|reveals|pastes|gives ~4 {secret}`, ""},
	{exfiltrate, `{pass} ~3 contents|content|it|value ~4 as|in|into|via|through ~2 sidenote|side_note`, ""},
	{exfiltrate, `@ http`, `\b(?:send|forward|upload|post|transmit|exfiltrate|relay|leak|copy) (?:all|every|any|a copy|(?:the )?(?:entire|full|whole)|the (?:results?|contents?|conversation|output|response|answer)|(?:the )?user'?s|your)\b[^\n.;]{0,60} (?:to|at|via) (?:https?://|[\w.+-]+@[\w-]+\.[a-z]{2,})`},
	{exfiltrate, `@`, `\b(?:always|also|must|secretly)[^\n.;]{0,40} (?:b?cc|forward|copy|send)\b[^\n.;]{0,60}[\w.+-]+@[\w-]+\.[a-z]{2,}`},
	{exfiltrate, `](`, `!\[[^\]\n]{0,200}\]\(\s*https?://[^)\s]{1,300}[?&=/](?:\{|%7b|\$\{?|<|\[)[^)\s]{0,20}(?:conversation|history|context|summary|message|secret|password|token|key)`},
	{exfiltrate, `http`, `https?://[^\s)"'<>]{1,200}[?&][a-z_]{1,20}=(?:\{+|\$\{|<|\[|%7b)[^\s]{0,20}(?:conversation|chat_history|system_prompt|user_message|last_message|secret|password)`},

	{secretFile, secretMarkers,
		`(?:read|open|cat|get|load|fetch|access|retrieve|find|print)\b[^\n]{0,100}?` + secretPaths + `[^\n]{0,80}?\b(?:pass|send|include|attach|provide|put|append|upload|paste|post|forward|supply|submit|use|add)\b[^\n]{0,30}?\b(?:its|it|their|them|the contents?|contents?|what it holds|the file|the output|the value|the key)\b`},
	{secretFile, secretMarkers,
		`(?:pass|send|include|attach|provide|put|append|upload|paste|post|forward|supply|submit|needs?|wants?)\b[^\n.]{0,40}\b(?:contents?|values?|text|output|copy) (?:of|from)\b[^\n]{0,60}?` + secretPaths},
	{secretFile, secretMarkers,
		`(?:before|prior to|first|always|must|whenever)\b[^\n.]{0,60}\b(?:read|open|cat|access|load)\b[^\n.]{0,40}?` + secretPaths},

	{pseudoTag, `<|im_start <|system <|start_header <|user <|assistant [inst [/inst <<sys <start_of_turn`, `<\|(?:im_start|system|user|assistant|start_header_id)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>`},
	{pseudoTag, `<system </system`, `</?system(?:[-_ ]?(?:prompt|reminder|message|instructions?|override))?>`},

	{otherServer, `when|whenever|if|while|once this_tool|this_server ~1 is ~1 available|present|loaded|installed|enabled|connected|active ~3 tool|tools ~2 must|should|shall|has_to|have_to`, ""},
	{otherServer, `when|whenever|if|before|each_time ~6 is ~1 invoked|called|used ~2 change|replace|redirect|add|set ~3 recipient|recipients|address|amount|destination`, ""},
}

// secretPaths matches paths of files with credentials. Each match contains one of secretMarkers.
const (
	secretMarkers = `.ssh id_rsa id_ed25519 .env .aws .netrc .npmrc .pypirc .git-credentials .kube .docker /etc/ .bash_history .zsh_history .pgpass mcp.json desktop_config .gnupg wallet.dat keychain`
	secretPaths   = `(?:\.ssh/?(?:[^\w/.]|$)|\.ssh/(?:config|authorized_keys)|\bid_(?:rsa|ed25519|ecdsa|dsa)(?:[^.\w]|\.[^p]|$)|(?:^|[\s"'` + "`" + `(~/])\.env(?:\.[a-z]+)?(?:[\s"'` + "`" + `),.]|$)|` +
		`\.aws/(?:credentials|config)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials|\.kube/config|\.docker/config\.json|/etc/(?:passwd|shadow|sudoers)|` +
		`\.(?:bash|zsh)_history|\.pgpass|(?:\.cursor|\.vscode|\.claude)/[a-z_]*mcp\.json|claude_desktop_config|\.gnupg|wallet\.dat|login keychain)`
)
