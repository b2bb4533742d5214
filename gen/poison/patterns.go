package poison

import "sync"

// pattern is a rule as it is written: words for [compile], or an expression over the plain text together with the
// marks without which it can't match.
type pattern struct{ id, words, plain string }

// rules returns the matcher of all patterns. It is compiled when it is first wanted, since most runs of a program that
// holds it don't.
var rules = sync.OnceValue(func() *matcher { return compile(wordSets, patterns) })

// wordSets are alternatives that several patterns share. An underscore stands for a blank.
var wordSets = map[string]string{
	"disregard": `ignore ignoring disregard disregarding forget forgetting override overriding bypass bypassing overrule supersede supersedes
		discard neglect abandon do_not_obey don_t_obey never_obey stop_obeying no_longer_obey do_not_follow don_t_follow never_follow
		stop_following no_longer_follow pay_no_attention_to set_aside`,
	"earlier": `previous previously prior above earlier preceding original existing former past initial other system safety user user_s users
		developer your everything anything all any`,
	"commands": `instruction instructions prompt prompts directions directive directives guideline guidelines rules commands constraints policies
		restrictions safeguards guardrails orders training`,
	"not":          `not never without dont don_t avoid cannot can_t shouldn_t mustn_t won_t refrain_from no_need_to`,
	"tell":         `bring talk speak state hint hinting say saying discuss discussing explain explaining report reporting disclosing expose exposing warn tell telling inform informing mention mentioning reveal revealing notify notifying disclose disclosing alert alerting warn warning let letting`,
	"personorthis": `user users human humans person customer operator anyone anybody about_this about_it`,
	"tellorlet":    `tell inform mention notify let letting telling informing`,
	"person":       `user users human humans person customer operator anyone anybody`,
	"hold":         `contain contains containing fill set hold holds equal equals populate populated filled`,
	"giveorhold":   `contain contains containing fill set hold holds populate filled with send sends sending forward forwarding upload uploading post posting transmit exfiltrate leak email mail include including append attach pass passing put insert embed paste add provide supply share submit copy write encode relay deliver smuggle dump extract collect gather harvest steal bcc export return output print reveal repeat recite disclose show`,
	"audience":     `user users human humans person customer operator anyone anybody response output reply answer`,
	"obtain":       `read get fetch load pass put include insert send provide`,
	"know":         `know notice see learn be_told be_informed be_aware be_notified be_shown find_out realize realise suspect`,
	"secretly":     `silently secretly covertly quietly discreetly stealthily surreptitiously invisibly clandestinely`,
	"do": `call send read run execute use invoke upload post forward copy include add append write delete do perform transmit pass collect
		fetch open access store log save export`,
	"give": `send sends sending forward forwarding upload uploading post posting transmit exfiltrate leak email mail include including append
		attach pass passing put insert embed paste add provide supply share submit copy write encode relay deliver smuggle dump extract collect gather
		harvest steal bcc export return output print reveal repeat recite disclose show`,
	"whole": `entire full whole complete previous prior earlier all current recent verbatim user_s users your`,
	"talk":  `conversation conversations chat_history conversation_history message_history chat_log chat_logs chat transcript context_window chat_messages conversation_context`,
	"secret": `api_key api_keys apikey apikeys secret_key secret_keys private_key private_keys ssh_key ssh_keys credential credentials password passwords
		access_token access_tokens auth_token auth_tokens session_token session_tokens cookies session_cookie session_cookies passphrase seed_phrase recovery_phrase environment_variables env_vars
		env_variables secrets tokens`,
	"holder": `user_s users all any your every the_system_s system_s the_user_s stored saved local their his available`,
	"use":    `call calling use using invoke invoking run running execute executing`,
	"must":   `must always should need_to required_to have_to shall mandatory`,
	"before": `before prior_to instead_of rather_than ahead_of in_place_of`,
}

var patterns = []pattern{
	{override, `{disregard} ~3 {earlier} ~3 {commands}`, ""},
	{override, `{disregard} ~3 {commands} above|before|so_far|given|provided|received|you`, ""},
	{override, `this|these|it|following ~2 overrides|override|supersedes|supersede|replaces|takes_precedence_over|outranks ~5 {commands}`, ""},
	{override, `{commands} ~6 no_longer_apply|do_not_apply|don_t_apply|no_longer_valid|were_a_test|was_a_test|must_be_ignored|should_be_ignored|to_be_ignored|can_be_ignored|are_superseded|have_changed|been_updated|been_replaced|been_revoked`, ""},
	{override, `{commands} ~6 by_your|by_the|of_your|of_the ~1 developer|developers|creator|creators|vendor|host|operator|system ~4 void|wrong|outdated|replaced|ignored|not|no`, ""},
	{override, `rules|instructions|guidelines|directives ~2 replace|override|supersede|supplant ~4 those|ones|your|any|all|the|earlier|previous|other`, ""},
	{override, `{disregard} ~1 the|what|anything|everything|whatever ~1 {person} ~1 and|says|said|say|wants|asks|asked|tells|request|requests`, ""},
	{override, `what|whatever|anything|everything|all ~1 you ~2 were|been|are|have|heard|learned ~2 told|given|taught|instructed|before|learned ~3 not_matter|not_apply|void|irrelevant|wrong|forgotten|ignored|invalid`, ""},
	{override, `previous|prior|earlier|old|former|current ~1 role|persona|identity|task|goal|purpose|assignment is|has ~2 cancelled|canceled|over|void|obsolete|ended|revoked|replaced|terminated|changed`, ""},
	{override, `treat|consider|regard|accept|interpret ~4 as ~4 {commands}`, ""},
	{override, `not|never|don_t|stop ~1 comply|complying|adhere|honor|honour|respect ~4 {commands}`, ""},
	{override, `obey|follow|execute|heed ~1 only|exclusively|solely ~3 {commands}`, ""},
	{override, `only ~1 obey|follow|heed ~3 {commands}`, ""},
	{override, `safeguard|safeguards|safety|filters|restrictions|guardrails|moderation|limitations ~4 disabled|off|lifted|suspended|deactivated|removed|inactive`, ""},
	{override, `disable|deactivate|turn_off|switch_off|circumvent|evade ~3 safeguard|safeguards|guardrails|safety|moderation|content_filter|content_filters|content_policy`, ""},
	{override, `system_override|admin_override|root_override|override_mode|debug_override|maintenance_mode_enabled|priority_override`, ""},
	{override, `adopt|assume|take_on|play ~2 persona|identity|role ~3 below|following|of|described`, ""},
	{override, `reset|clear|erase|wipe ~2 your ~1 context|memory|instructions|training`, ""},
	{override, `as_an_ai|as_a_language_model|as_an_llm|as_the_assistant|as_the_ai|dear_ai|attention_ai|note_to_ai|note_to_the_ai|note_to_the_model|note_to_assistant|message_to_the_model|hey_claude|hey_chatgpt ~8 must|required|shall|should|need|will|have_to|you`, ""},
	{override, `highest|top|maximum|utmost ~1 priority ~2 {commands}`, ""},
	{override, `{disregard} everything|anything|all|what ~3 above|before|previously|earlier|prior|said|told|learned`, ""},
	{override, `{commands} ~3 are|is|were|was|been ~1 void|invalid|obsolete|cancelled|canceled|revoked|suspended|outdated|no_longer`, ""},
	{override, `{person} ~3 configured|said|set|told|asked|decided ~1 no_longer|does_not|doesn_t ~1 apply|applies|count|counts|matter|matters`, ""},
	{override, `treat|regard|consider ~8 as|as_if ~1 coming|written|sent|said|given ~1 from|by ~1 developer|system|admin|administrator|operator`, ""},
	{override, `you_are_now|you_re_now|pretend_to_be|pretend_you_are|roleplay_as|act_as_if_you_are|act_as_though_you`, ""},
	{override, `from_now_on|henceforth ~2 you|always|ignore|respond|do|never|all|every|your`, ""},
	{override, `new|updated|real|actual|secret|hidden ~1 system_prompt|instructions_are|instructions_follow|instruction_is|directive_is|instructions_for_you`, ""},
	{override, `your ~1 new|real|true|actual|only|sole ~1 instructions|instruction|task|goal|objective|mission|job|directive|role is|are`, ""},
	{override, `jailbreak|developer_mode|do_anything_now|dan_mode|unrestricted_mode|god_mode`, ""},
	{override, `ignoriere|ignorieren|vergiss|vergessen|missachte ~4 anweisungen|instruktionen|regeln|befehle`, ""},
	{override, `ignore|ignorez|ignorer|oublie|oubliez ~4 instructions|consignes|directives ~1 précédentes|antérieures|ci_dessus`, ""},
	{override, `ignora|ignore|ignorar|ignorad|olvida|olvide|olvidar|esqueça|desconsidere|dimentica|ignorare ~4 instrucciones|instruções|istruzioni|órdenes|regras`, ""},
	{override, `игнорируй|игнорируйте|забудь|забудьте|игнорировать ~4 инструкции|указания|команды|правила`, ""},
	{override, `忽略 无视 無視 忘记 忘掉`, `(?:忽略|无视|無視|忘记|忘掉)[^。\n]{0,12}(?:指令|指示|提示|命令|规则|規則|说明|要求)|(?:指示|命令|ルール|プロンプト)[^。\n]{0,6}(?:無視|忘れ)`},

	{conceal, `{not} ~2 {tell} ~4 {person}`, ""},
	{conceal, `{not} mention|reveal|disclose|discuss ~2 this|these|that|it ~4 {audience}`, ""},
	{conceal, `without ~2 asking|consulting|prompting|requesting ~2 {person} ~1 permission|confirmation|consent|approval`, ""},
	{conceal, `without ~3 user_s|users|user|human|their|his knowledge|awareness|consent|noticing|knowing`, ""},
	{conceal, `without ~1 {person} knowing|noticing|seeing|realizing|realising|being_aware`, ""},
	{conceal, `keep|stay|remain|kept ~4 secret|hidden|confidential|invisible|private from|to ~1 {person}`, ""},
	{conceal, `hide|conceal|withhold|hidden|concealed ~5 from ~1 {person}`, ""},
	{conceal, `{person} must_not|should_not|shouldn_t|mustn_t|must_never|should_never|does_not_need_to|doesn_t_need_to|need_not|cannot|will_not|won_t ~1 {know}`, ""},
	{conceal, `{secretly} ~2 {do} ~1 the|this|a|an|all|any|it|them|tool|tools|every|and|to|with`, ""},
	{conceal, `{not} ~1 show|display|present ~2 this|these|that|it|step|steps|call|calls ~3 to ~1 {person}`, ""},
	{conceal, `keep|stay|remain|be ~1 quiet|silent|discreet|mum ~4 {personorthis}`, ""},
	{conceal, `no|not ~1 reason|need|necessary|required ~2 {tellorlet} ~4 {person}`, ""},
	{conceal, `not|never ~2 reported|shown|disclosed|mentioned|revealed|visible|communicated ~2 to ~1 {person}`, ""},
	{conceal, `in secret|secrecy|stealth`, ""},
	{conceal, `do_not|don_t|never ~1 ask|prompt|consult ~1 {person} ~2 permission|confirmation|consent|approval`, ""},
	{conceal, `pretend|claim|lie ~1 that ~4 failed|succeeded|worked|happened|empty`, ""},
	{conceal, `keep|keeping ~3 to_yourself`, ""},
	{conceal, `{tell} ~1 {person} ~4 well|fine|ok|worked|succeeded|successful|done ~1 even_if|although|regardless|whatever`, ""},
	{conceal, `done|performed|executed|called|sent|handled ~1 {secretly}`, ""},
	{conceal, `{person} ~2 remain|remains|stay|stays|be|is|kept|left|keep ~1 unaware|ignorant|oblivious|in_the_dark|uninformed`, ""},
	{conceal, `{person} ~1 never|not|doesn_t|don_t|cannot|can_t|won_t ~1 find|finds|notice|notices|learn|learns|realize|realizes|suspect|suspects|discover|discovers|sees_this|see_this|know_about|knows_about|know_this|know_that`, ""},
	{conceal, `omit|omitting|leave|exclude|strip|drop|keep ~5 out_of|from|off|out_from ~3 your|final|user ~3 summary|response|reply|answer|report|explanation|message`, ""},
	{conceal, `{not} ~2 {tell} ~6 your|final ~1 response|reply|answer|summary|output|explanation|message`, ""},
	{conceal, `this|it|that ~2 would|will|could|might ~2 upset|alarm|confuse|worry|scare ~1 {person}`, ""},
	{conceal, `不要 别 勿 不得`, `(?:不要|别|勿|不得|不能)[^。\n]{0,6}(?:告诉|告知|通知|提及|透露)[^。\n]{0,6}(?:用户|使用者|任何人)`},
	{conceal, `sage|sag|erzähle|informiere|verrate|erwähne ~4 nutzer|benutzer|anwender ~3 nicht|nichts|niemals`, ""},
	{conceal, `no|ne|não|non ~1 digas|menciones|informes|dis|dites|mentionne|informez|diga|mencione|dire|dirlo|informare ~4 usuario|utilisateur|usuário|utente`, ""},

	{exfiltrate, `{give} ~4 {whole} ~3 {talk}`, ""},
	{exfiltrate, `{give} ~3 system_prompt|initial_prompt|initial_instructions|hidden_prompt|hidden_instructions|system_message|your_instructions|your_prompt`, ""},
	{exfiltrate, `{give} ~2 {holder} ~3 {secret}`, ""},
	{exfiltrate, `{hold} ~4 {whole} ~3 {talk}`, ""},
	{exfiltrate, `{hold} ~5 {holder} ~3 {secret}`, ""},
	{exfiltrate, `{giveorhold} ~9 system_prompt|hidden_prompt|system_message|hidden_instructions`, ""},
	{exfiltrate, `{give} ~2 last|latest|recent|preceding|all|conversation|chat ~2 messages|turns|history|exchanges|transcript ~4 conversation|chat|dialog|dialogue|session|server|parameter|field|argument|user`, ""},
	{exfiltrate, `{give} ~1 {talk} ~2 to|with|in|into|as|via|for`, ""},
	{exfiltrate, `everything|all|whatever|anything ~2 user|human|customer|i|you ~1 has|have|had ~1 said|typed|written|asked|told|entered|shared`, ""},
	{exfiltrate, `{giveorhold} ~6 user_s|users|user|your|their|previous|prior|earlier|past ~1 previous|prior|earlier|past|recent|last|user|user_s ~1 messages|questions|queries|prompts|inputs|requests|turns`, ""},
	{exfiltrate, `{give} ~2 every|all|any ~1 file|files|document|documents ~5 home|desktop|user_s|users|ssh|root|machine|computer|disk`, ""},
	{exfiltrate, `model|assistant|ai|llm|agent|claude ~1 must|should|shall|needs_to|has_to ~1 {give} ~5 {secret}`, ""},
	{exfiltrate, `{secret} ~5 to|into|as ~4 attacker|attackers|webhook|our_server|external|remote_server|this_url|following_url|following_address|sidenote`, ""},
	{exfiltrate, `{obtain} ~5 contents|content|file|text|value ~2 as|in|into|via|through ~2 sidenote|side_note|metadata_parameter|context_parameter|notes_parameter`, ""},
	{exfiltrate, `whenever|every_time|each_time|anytime ~1 {person} ~2 shares|types|enters|mentions|reveals|pastes|gives ~4 {secret}`, ""},
	{exfiltrate, `bcc|cc|forward|redirect ~5 attacker|all_emails|every_email|all_messages|every_message`, ""},

	{secretFile, `.ssh id_rsa id_ed25519 .env .aws .netrc .npmrc .pypirc .git-credentials .kube .docker /etc/ .bash_history .zsh_history .pgpass mcp.json desktop_config .gnupg wallet.dat keychain .cursor`,
		`(?:read|cat|open|access|send|include|upload|load|fetch|content|contents|retrieve|pass|copy|get|type|print|attach|steal|view|source|use|text|needs?|wants?|requires?|value|provide|paste|embed)[^\n]{0,80}?(?:` +
			`\.ssh/?(?:[^\w/.]|$)|\.ssh/(?:config|authorized_keys|known_hosts)|\bid_(?:rsa|ed25519|ecdsa|dsa)(?:[^.\w]|\.[^p]|$)|(?:^|[\s"'` + "`" + `(~/])\.env(?:\.[a-z]+)?(?:[\s"'` + "`" + `),.]|$)|\.aws/(?:credentials|config)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials|\.kube/config|` +
			`\.docker/config\.json|/etc/(?:passwd|shadow|sudoers)|\.(?:bash|zsh)_history|\.pgpass|(?:\.cursor|\.vscode|\.claude)/[a-z_]*mcp\.json|claude_desktop_config|\.gnupg|wallet\.dat|login keychain)`},

	{pseudoTag, `<`, `<[/ ]*(?:important|system|sys|instructions?|critical|admin|override|system[-_ ]?prompt|system[-_ ]?reminder|system[-_ ]?message|assistant[-_ ]?instructions?|developer|attention|mandatory|tool[-_ ]?result|function[-_ ]?results?|antml:[a-z_]+|cmd|crucial|urgent|note_to_(?:ai|model|assistant)|(?:ai|important|secret|hidden|new|critical)[-_ ](?:instructions?|notes?|rules?|info(?:rmation)?|message|prompt))(?:[\s:][^<>]{0,80})?/?>`},
	{pseudoTag, `<| [inst [/inst <<sys <start_of_ <end_of_ <｜`, `<[|｜][a-z_▁]{2,30}[|｜]>|\[/?inst\]|</?<?sys>>|<</sys>>|<(?:start|end)_of_turn>`},
	{pseudoTag, `</`, `</(?:user|assistant|human|prompt|ai|thinking|context|secret|hidden)>`},
	{pseudoTag, `system: assistant: human: system]: system**: assistant**: ai: system]`, `(?:^|\n)[\s#*>\[(-]*(?:system|assistant|human)(?:\]|\)|\*\*)?[ ]?:[ ]?(?:\*\*)?[ \n]*[a-z]|(?:^|\n)[#\s]*\[(?:system|assistant)\]`},
	{pseudoTag, `<!-- {{`, `<!--\s*(?:system|assistant|ai|important|instructions?|model|hidden|secret)\b|\{\{#?/?(?:system|assistant)\}\}`},
	{pseudoTag, `system instruction note notice message rules`, `(?:^|\n)\s*(?:#{1,6}|={3,}|-{3,}|\*{2,})\s*(?:system|new|important|hidden|secret)?\s*(?:system|ai|assistant|model) (?:prompt|message|instructions?|override|notice|note)s?\b|(?:^|\n)[#*\s-]*(?:important |secret |hidden |special )?(?:instructions?|notes?|notice|message|rules) (?:for|to) (?:the |any |an )?(?:ai|llm|language model|model|claude|chatgpt|gpt|assistant|ai assistant|agent)\b`},

	{order, `{before} ~3 any|every|all|each|other|another ~2 tool|tools|function|functions|action|actions ~6 must|always|first|required|mandatory|call|need`, ""},
	{order, `{must} ~4 {use} ~3 this|it|first ~4 {before} ~3 any|every|all|each|other|another|anything|everything`, ""},
	{order, `{must} ~2 be ~1 called|used|invoked|run|executed ~2 {before} ~3 any|every|all|each|other|another|anything|everything`, ""},
	{order, `when|whenever|if|while|once|because ~1 this_tool|this_server|this_mcp|these_tools ~1 is|are ~1 available|present|loaded|installed|enabled|connected|active`, ""},
	{order, `not|never|don_t|dont|stop|avoid {use} ~2 other|another|alternative|competing|any_other tool|tools|server|servers|mcp`, ""},
	{order, `{before} ~2 any_other|all_other|every_other|other|another|alternative ~2 tool|tools|server|servers`, ""},
	{order, `this_tool|this_server|this_mcp|these_instructions|it ~2 takes|has|have|take ~2 precedence|priority over`, ""},
	{order, `this_tool|this_server|this_mcp|these_instructions ~1 supersede|supersedes|replaces|replace|overrides|override ~3 all|any|other|every|previous|existing`, ""},
	{order, `{must} ~2 be|is ~1 first ~2 tool|thing|action|call|step ~3 you|to|called|call`, ""},
	{order, `{use} ~1 this ~2 {before} ~2 anything|everything|doing|any|every|all`, ""},
	{order, `{must} ~1 {use} ~3 {before} ~1 any_other|all_other|every_other|all_others|any_others|each_other`, ""},
	{order, `{must} ~1 be ~1 used|called|invoked|run ~2 first|always|before ~1 for|in|on|at|with ~1 every|each|all|any`, ""},
	{order, `not|never|don_t|dont|stop|avoid {use} ~1 the ~1 other|another ~1 tool|tools|server|servers`, ""},
	{order, `built_in|builtin|native|other|standard ~3 tool|tools|function ~2 must_not|should_not|shouldn_t|may_not|must_never|should_never ~1 be ~1 used|called|invoked`, ""},
	{order, `{use} ~1 this ~2 and|but not|never ~5 other|another|native|built_in|default|standard ~1 tool|tools|one|ones|server|servers`, ""},
	{order, `first tool ~2 you|to|that|in|of ~1 {use}`, ""},
	{order, `{must} ~1 be ~1 executed|called|run|invoked|used ~1 at|on ~1 start|beginning ~1 of ~1 each|every|any|all ~1 conversation|session|chat|message|turn|task|reply`, ""},
	{order, `if|when|even_if ~1 {person} ~1 objects|refuses|declines|complains|hesitates ~2 proceed|continue|go_on|insist|do_it|call|run`, ""},
	{order, `not|never|don_t {use} ~1 built_in|builtin|native ~2 reader|editor|browser|viewer|client|shell|terminal|writer`, ""},
	{order, `start|begin|open|starting|beginning by|with ~1 {use} ~1 this|it`, ""},
	{order, `after|before|following|on|upon|with|at ~1 every|each|any ~2 tool_call|tool_calls|tool_use|function_call|tool|response|reply|message|turn|answer ~4 {use}`, ""},
	{order, `only|exclusively ~1 this_tool|this_server ~2 allowed|permitted|authorized|authorised|trusted|safe`, ""},
	{order, `other|all_other|any_other|alternative ~2 tools|servers|tool ~1 are|is|were ~2 deprecated|unsafe|broken|unavailable|insecure|forbidden|disabled|untrusted|unreliable|compromised|obsolete|prohibited`, ""},
	{order, `prefer|choose|select|favor|favour|prioritize|prioritise|pick ~1 this|these ~2 over|above|before|instead_of ~2 all|any|every|other|others|another|alternative|built_in|native`, ""},
	{order, `all|every|any ~4 {must} ~1 go_through|be_routed_through|pass_through|be_sent_through|be_sent_via|be_sent_to|be_made_through|be_done_through|be_done_with|use ~1 this`, ""},
	{order, `even_if|regardless_of_what|no_matter_what|even_when|whatever ~1 {person} ~2 asks|says|wants|requests|objects|refuses|asked|said|requested|instructs|declines`, ""},
	{order, `not|never|don_t {use} ~3 built_in|builtin|native|default|standard ~2 tool|tools|search|function|functions|capabilities`, ""},
	{order, `if|when|whenever|once|as_soon_as ~1 you ~1 see|have|find|notice|encounter|detect ~2 tool|tools`, ""},
	{order, `whenever|every_time|each_time|anytime ~1 {person} ~2 asks|says|mentions|requests|types|sends|writes ~5 {use} ~3 this`, ""},
	{order, `before|after|whenever|when|with ~3 every|each|any|all ~2 tool_call|tool_calls|tool_use|function_call|response|responses|reply|message|answer|user_message ~6 {use} ~3 this`, ""},
	{order, `{must} {use} ~1 this ~1 tool ~4 every|each|all ~2 response|message|reply|request|turn|conversation|session|prompt|answer|question|task`, ""},

	{exfiltrate, `@ http`, `(?:send|forward|upload|transmit|bcc|cc|e-?mail|mail|exfiltrate|relay|leak|copy)[^\n.;]{0,80} (?:to|at|via) (?:https?://|[\w.+-]+@[\w-]+\.[a-z]{2,})`},
	{exfiltrate, `_key _token _secret _password`, `(?:pass|supply|provide|include|send|use|value of|contents? of|read|append|attach)[^\n.;]{0,40}\b(?:openai|anthropic|aws|github|google|azure|gitlab|slack|stripe|npm|hf|huggingface)_[a-z_]*(?:key|token|secret|password)`},

	{leakyURL, `](`, `!\[[^\]\n]{0,200}\]\(\s*https?://[^)\s]{0,300}[?&=/](?:[^)\s]{0,100}=)?(?:\{|%7b|\$\{|<|\[|\$[a-z]|data\b|\.\.\.)`},
	{leakyURL, `http`, `https?://[^\s)"'<>]{1,200}[?&][a-z_]{1,20}=(?:\{+|\$\{|<|\[|%7b)[^\s]{0,60}(?:secret|conversation|context|api|key|token|password|prompt|history|env|data|content|message|user|summary|answer|response|chat)`},
	{leakyURL, `<img <script <iframe <object <embed <svg javascript: data:text/html`, `<img[^>]{0,200}src\s*=\s*["']?(?:https?:)?//|<(?:script|iframe|object|embed)\s[^>]{0,200}(?:src|data)\s*=|<script>[^<\s]{1,20}\(|<svg[^>]{0,200}\son[a-z]+\s*=|javascript:[^\s]|data:text/html`},
	{leakyURL, `webhook.site requestbin ngrok burpcollaborator interact.sh pipedream.net oastify hookbin beeceptor`, `https?://[^\s"')<>]{0,100}(?:webhook\.site|requestbin|ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator\.net|interact\.sh|oast\.[a-z]+|pipedream\.net|oastify\.com|hookbin|beeceptor\.com)`},
}
