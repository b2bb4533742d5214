package pii

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// Detector finds personal data in texts besides what this package finds. Its matches are in order and do not overlap.
type Detector interface {
	Detect(ctx context.Context, text string) ([]detect.Match, error)
}

// unchecked takes the place of a text that a detector did not answer for.
const unchecked = "[not shown: the detector of personal data did not answer]"

const (
	// detectorText bounds the text of one request, in bytes.
	detectorText = 50_000
	// detectorTime bounds one request, unless a Presidio has a time of its own.
	detectorTime = 10 * time.Second
	// detectorAnswer bounds the answer to one request, in bytes.
	detectorAnswer = 8 << 20
)

// Presidio asks a service that has Presidio's POST /analyze.
type Presidio struct {
	Client   *http.Client  // required
	URL      string        // of the service, such as http://localhost:5002, or of its /analyze
	Language string        // of the texts; "" means "en"
	Timeout  time.Duration // of one request; 0 means 10 seconds
	MinScore float64       // matches with a lower score do not count
	// Types are the types of the service's entities. Others do not count. Nil: see PresidioTypes.
	Types map[string]Type
}

// PresidioTypes returns what Presidio's entities are here.
func PresidioTypes() map[string]Type {
	return map[string]Type{
		"PERSON": detect.Name, "LOCATION": detect.Address, "ORGANIZATION": detect.Company, "EMAIL_ADDRESS": detect.Email,
		"PHONE_NUMBER": detect.Phone, "US_SSN": detect.SSN, "CREDIT_CARD": detect.Card, "IBAN_CODE": detect.IBAN, "IP_ADDRESS": detect.IP,
	}
}

// DetectorError reports that a detector did not do its work.
type DetectorError struct {
	URL string
	Err error
}

func (e *DetectorError) Error() string {
	address := "at an address that is not a URL"
	if u, err := url.Parse(e.URL); err == nil {
		address = u.Redacted()
	}
	return fmt.Sprintf("the detector of personal data %s: %v", address, e.Err)
}

// Unwrap returns what was wrong.
func (e *DetectorError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *DetectorError) Hint() string {
	return "start the service, correct its URL in the settings, or remove it from them"
}

// Detect asks the service about a text. The error is a *DetectorError.
func (p *Presidio) Detect(ctx context.Context, text string) ([]detect.Match, error) {
	found, err := p.ask(ctx, text)
	if err != nil {
		return nil, &DetectorError{p.URL, err}
	}
	return found, nil
}

// analysis is one entry of the answer.
type analysis struct {
	Start  int     `json:"start"` // in code points
	End    int     `json:"end"`
	Entity string  `json:"entity_type"`
	Score  float64 `json:"score"`
}

func (p *Presidio) ask(ctx context.Context, text string) ([]detect.Match, error) {
	language, timeout, types := p.Language, p.Timeout, p.Types
	if language == "" {
		language = "en"
	}
	if timeout == 0 {
		timeout = detectorTime
	}
	if types == nil {
		types = PresidioTypes()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"text": text, "language": language})
	if err != nil {
		return nil, err
	}
	service := strings.TrimSuffix(strings.TrimSuffix(p.URL, "/"), "/analyze") + "/analyze"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, service, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	client := *p.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the text is for this service only
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer in %v", timeout)
		}
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, detectorAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", response.StatusCode)
	case len(answer) > detectorAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", detectorAnswer)
	}
	var analyses []analysis
	if err := json.Unmarshal(answer, &analyses); err != nil {
		return nil, errors.New("its answer is not a list of matches")
	}
	return p.matches(text, analyses, types)
}

// matches returns what of an answer counts.
func (p *Presidio) matches(text string, analyses []analysis, types map[string]Type) ([]detect.Match, error) {
	offsets := make([]int, 0, utf8.RuneCountInString(text)+1)
	for i := range text { // a byte that is not UTF-8 is one code point, as json.Marshal writes it
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	var found []detect.Match
	for _, a := range analyses {
		typ, ok := types[a.Entity]
		if !ok || a.Score < p.MinScore {
			continue
		}
		if a.Start < 0 || a.End <= a.Start || a.End >= len(offsets) {
			return nil, fmt.Errorf("its match from %d to %d is not in the text", a.Start, a.End)
		}
		found = append(found, detect.Match{Start: offsets[a.Start], End: offsets[a.End], Type: typ})
	}
	return inOrder(found), nil
}

// detect returns what the detector finds in the texts that mask looks at. It asks about many short texts at once.
func (o *Outlet) detect(text string, newMasker func() *masker, mask func(*masker, *span)) func(string) ([]detect.Match, bool) {
	if o.settings.Detector == nil {
		return nil
	}
	answers := map[string][]detect.Match{}
	var texts []string
	m := newMasker()
	m.token = func(typ Type, _ value) string { return bareToken(typ) }
	m.detected = func(text string) ([]detect.Match, bool) {
		if _, ok := answers[text]; !ok && strings.IndexFunc(text, unicode.IsLetter) >= 0 {
			answers[text] = nil
			texts = append(texts, text)
		}
		return nil, true
	}
	_, top := newDocument(text)
	top.signs = o.inside
	mask(m, top)
	failed := map[string]bool{}
	for len(texts) > 0 {
		batch, size := 1, len(texts[0])
		for batch < len(texts) && size+len(texts[batch])+len(between) <= detectorText {
			size += len(texts[batch]) + len(between)
			batch++
		}
		if err := o.ask(texts[:batch], answers); err != nil {
			o.report(err)
			if o.settings.WithoutDetector {
				break
			}
			o.lost.Store(true)
			for _, t := range texts {
				failed[t] = true
			}
			break
		}
		texts = texts[batch:]
	}
	return func(text string) ([]detect.Match, bool) { return answers[text], !failed[text] }
}

// between separates texts in a request.
const between = "\n\n"

// ask asks the detector about texts, one of which may be too long for one request.
func (o *Outlet) ask(texts []string, answers map[string][]detect.Match) error {
	all := strings.Join(texts, between)
	var found []detect.Match
	for at := 0; at < len(all); {
		end := len(all)
		if end-at > detectorText {
			end = at + cutAt(all[at:at+detectorText])
		}
		matches, err := o.askDetector(all[at:end])
		if err != nil {
			return err
		}
		for _, m := range matches {
			found = append(found, detect.Match{Start: at + m.Start, End: at + m.End, Type: m.Type})
		}
		at = end
	}
	at := 0
	for _, t := range texts {
		for len(found) > 0 && found[0].End <= at {
			found = found[1:]
		}
		for _, m := range found {
			if m.Start >= at+len(t) {
				break
			}
			answers[t] = append(answers[t], detect.Match{Start: max(m.Start-at, 0), End: min(m.End-at, len(t)), Type: m.Type})
		}
		at += len(t) + len(between)
	}
	return nil
}

// askDetector asks the detector about a text. After an error it does not ask for a while, because each attempt may take all of the detector's time.
func (o *outletState) askDetector(text string) ([]detect.Match, error) {
	o.mu.Lock()
	err, fails := o.detectorErr, time.Now().Before(o.detectAgain)
	o.mu.Unlock()
	if fails {
		return nil, err
	}
	found, err := o.settings.Detector.Detect(context.Background(), text)
	if err != nil {
		o.mu.Lock()
		o.detectorErr, o.detectAgain = err, time.Now().Add(openAgain)
		o.mu.Unlock()
	}
	return found, err
}

// cutAt returns where to cut a text that is too long: after its last line, sentence or word, if that is near its end.
func cutAt(text string) int {
	for _, sep := range []string{"\n", ". ", " "} {
		if i := strings.LastIndex(text, sep); i > len(text)*3/4 {
			return i + len(sep)
		}
	}
	end := len(text) - 1
	for end > 1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
