package pii

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// Detector finds personal data in texts besides what this package finds. Its matches may be in any order, and overlap.
type Detector interface {
	Detect(ctx context.Context, text string) ([]detect.Match, error)
}

// unchecked takes the place of a text that a detector did not answer for.
const unchecked = "[not shown: the detector of personal data did not answer]"

// detectorText bounds the text that a detector is asked about at once, in bytes.
const detectorText = 50_000

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
	return inOrder(found), err
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
