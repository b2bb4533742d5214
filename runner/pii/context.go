package pii

import (
	"strings"
	"sync"
)

// What a name or the words before say of a number, besides the types themselves.
const (
	ofVersion    Type = "version"    // of a program, of a section: no address of a machine
	ofIdentifier Type = "identifier" // of a record: no payment card
	ofThing      Type = "thing"      // of an order, a parcel, a part: neither a card nor a person's
	ofMessage    Type = "message"    // it looks like an e-mail address, and is the name of a message
)

const (
	maxBefore = 64 // bytes that are read backwards for words
	maxWords  = 6
)

// hintAt is what the member's name or the words just before i say of the number there. It goes back over words that
// only join, as in "call me on" and "Telefon Nr.:", and no farther than the line and the last find.
func (f *finder) hintAt(i int) Type {
	if f.hint != "" || i == 0 {
		return f.hint
	}
	if f.joined(i) {
		return Phone
	}
	last := i - 1
	for last > f.from && strings.IndexByte(" :=#.\t()\"'-", f.s[last]) >= 0 {
		last--
	}
	if last < f.from || isDigit(f.s[last]) {
		return "" // as most numbers in lists and tables
	}
	words := wordsBefore(f.s, f.from, i)
	strange := false // a word was passed that is none of those that join, as "Tim" in "reach Tim at"
	for n := range maxWords {
		word := words.next()
		if word == "" {
			return ""
		}
		if len(word) == 1 && f.isLabel(len(words.text), i) {
			return Phone
		}
		if word == "text" && n == 0 {
			return "" // "text me at" says something, "text=" does not
		}
		if hint := wordHint(word); hint != "" {
			return hint
		}
		if between()[word] {
			continue
		}
		if n != 1 || strange || !toPerson(f.s[max(0, i-maxBefore):i]) {
			break
		}
		strange = true
	}
	return ""
}

// toPerson tells whether a text ends in a word that stands between a person and their number.
func toPerson(text string) bool {
	text = strings.TrimRight(text, " ")
	switch text[strings.LastIndexByte(text, ' ')+1:] {
	case "at", "on", "under", "unter", "au", "al", "via":
		return true
	}
	return false
}

// isLabel tells whether the letter that stands at an offset of what is read before i is one that cards and signatures put before
// the number of a phone: "T: ", "M: ".
func (f *finder) isLabel(offset, i int) bool {
	start := max(f.from, 0, i-maxBefore)
	if at := strings.LastIndexByte(f.s[start:i], '\n'); at >= 0 {
		start += at + 1
	}
	at := start + offset
	return at+2 < i && strings.IndexByte("TMPFHCW", f.s[at]) >= 0 && f.s[at+1] == ':' && f.s[at+2] == ' ' && i-at <= 4
}

// joined tells whether nothing but a word such as "or" stands between a phone number and i.
func (f *finder) joined(i int) bool {
	if len(f.out) == 0 || i-f.from > 8 || f.out[len(f.out)-1].Type != Phone {
		return false
	}
	switch strings.TrimSpace(f.s[f.from:i]) {
	case "or", "and", "oder", "und", "bzw.", "ou", "et", "o", "y", "e", "of", "en", "/", "или", "и":
		return true
	}
	return false
}

// backwards reads words from the end of a text.
type backwards struct{ text string }

// wordsBefore are the words of the line before i, in small letters, none that stand before from.
func wordsBefore(s string, from, i int) backwards {
	before := s[max(from, 0, i-maxBefore):i]
	if at := strings.LastIndexByte(before, '\n'); at >= 0 {
		before = before[at+1:]
	}
	return backwards{strings.ToLower(before)}
}

// next is the word before those that were read. It ends at a comma, a bracket or a quote: "" when there is none.
func (b *backwards) next() string {
	b.text = strings.TrimRight(b.text, " :=#.\t()\"'*>[`/：-–—（°")
	at := strings.LastIndexAny(b.text, " \t,;()\"'{}|/<>[]*`、，。（：") + 1
	for at < len(b.text) && b.text[at]&0xc0 == 0x80 { // the rest of a separator beyond ASCII
		at++
	}
	word := b.text[at:]
	b.text = b.text[:at]
	return strings.TrimPrefix(word, "-")
}

// between are words that stand between what says that a number follows, and the number.
var between = lazySet("is us me him her them at on no nr num number numbers the my our your to under via office home work direct line back dial " +
	"please this new toll-free free and or landline desk private personal business either " +
	"unter nummer bitte an ist die lautet der meine le la au numéro numero número n n° est mon el mi es al il mio è de du " +
	"o meu minha nº nummer: номер номеру по № nummeret er het mijn op numaram numarası numara pro perso kom gärna gerne mal kurz jederzeit gratis oss mig direkt s.v.p svp")

// phoneWords say that the number of a phone follows.
var phoneWords = lazySet("phone telephone tel telefon téléphone telephon cell cellphone mobile mob mobil mobiel fax call dial ring whatsapp ph " +
	"contact text texts texting reach reached reachable phoned called calling " +
	"handynummer mobilnummer faxnummer rufnummer ruf rufe erreichbar erreichen natel llámame llámenos llámanos llámeme fijo chiamami chiamaci fisso " +
	"zadzwoń dzwoń dzwonić ringa ringen voicemail tel.nr tlf.nr telnr tfno tlfno tél. मोबाइल फ़ोन " +
	"handy rückruf anruf anrufen rufen festnetz durchwahl telefax tél portable gsm appelez appeler fixe " +
	"teléfono telefono móvil movil celular llame llamar llama telefone telemóvel ligue ligar cellulare chiama chiamare " +
	"telefoon bel mobiel telefonnummer telefoonnummer telefonnr tlf telefonen puh puhelin komórka telefonu тел телефон моб мобильный факс звоните " +
	"τηλ هاتف جوال फोन sms hotline helpline phones toll-free msisdn")

// phoneEnds are phoneWords of scripts that put no space between words.
var phoneEnds = []string{"電話", "携帯", "電話番号", "携帯番号", "连絡先", "連絡先", "电话", "手机", "手机号", "手機", "联系方式", "热线", "전화", "휴대폰", "전화번호", "연락처", "โทร"}

// identifierWords say that what follows is the number of a record.
var identifierWords = lazySet("transaction txn reference ref session message msg id uuid request trace timestamp sequence seq account-id orderid transactionid")

// thingWords say that what follows is the number of a thing.
var thingWords = lazySet("order orders tracking track invoice ticket serial shipment parcel booking case docket part lot item batch sku asin barcode imei iccid isbn " +
	"model catalog catalogue coupon voucher policy warranty " +
	"aktenzeichen az bestellung bestellnummer sendung sendungsnummer rechnung rechnungsnummer artikel artikelnummer vertrag auftrag auftragsnummer kundennummer " +
	"commande colis dossier facture pedido factura expediente envío ordine fattura pratica ordem zamówienie bestelling 注文番号 伝票番号 受付番号 订单号 订单 单号 주문 заказ")

// wordHint is what one word, in small letters, says of the number behind it.
func wordHint(word string) Type {
	switch {
	case phoneWords()[word]:
		return Phone
	case identifierWords()[word]:
		return ofIdentifier
	case thingWords()[word]:
		return ofThing
	}
	switch word {
	case "ssn", "security", "ss", "sec", "social":
		return SSN
	}
	if word[0] >= 0x80 {
		stem := strings.TrimRight(word, "はがをに番号碼码")
		for _, end := range phoneEnds {
			if strings.HasSuffix(word, end) || strings.HasSuffix(stem, end) {
				return Phone
			}
		}
		if strings.HasSuffix(word, "番号") || strings.HasSuffix(word, "单号") {
			return ofThing
		}
	}
	if strings.ContainsAny(word, "_-.") || mayEndHint(word) {
		if hint := memberHint(word); hint != Secret {
			return hint
		}
	}
	return ""
}

// mayEndHint tells whether a word may be the name of a member that says something; few are.
func mayEndHint(word string) bool {
	for _, end := range []string{"phone", "phones", "mobile", "number", "nummer", "ssn", "version"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// lazySet is a set of words that is made when it is first asked for.
func lazySet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			out[word] = true
		}
		return out
	})
}
