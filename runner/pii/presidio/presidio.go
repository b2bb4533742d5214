// Package presidio finds personal data with a service that has the API of Presidio's analyzer: POST /analyze
// (https://microsoft.github.io/presidio/api-docs/api-docs.html).
package presidio

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
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

const (
	// usualTime bounds one request, unless a Service has a time of its own.
	usualTime = 10 * time.Second
	// maxAnswer bounds the answer to one request, in bytes.
	maxAnswer = 8 << 20
)

// Service is an analyzer. It is a detector of package pii.
type Service struct {
	Client   *http.Client  // required
	URL      string        // of the service, such as http://localhost:5002, or of its /analyze
	Language string        // of the texts; "" means "en"
	Timeout  time.Duration // of one request; 0 means 10 seconds
	MinScore float64       // matches with a lower score do not count
	// Types are the types of the service's entities. Others do not count. Nil: see [Types].
	Types map[string]detect.Type
}

// Types returns what Presidio's entities are in package detect.
func Types() map[string]detect.Type {
	return map[string]detect.Type{
		"PERSON": detect.Name, "LOCATION": detect.Address, "ORGANIZATION": detect.Company, "EMAIL_ADDRESS": detect.Email,
		"PHONE_NUMBER": detect.Phone, "US_SSN": detect.SSN, "CREDIT_CARD": detect.Card, "IBAN_CODE": detect.IBAN, "IP_ADDRESS": detect.IP,
	}
}

// Error reports that a service did not do its work.
type Error struct {
	URL string
	Err error
}

func (e *Error) Error() string {
	address := "at an address that is not a URL"
	if u, err := url.Parse(e.URL); err == nil {
		address = u.Redacted()
	}
	return fmt.Sprintf("the detector of personal data %s: %v", address, e.Err)
}

// Unwrap returns what was wrong.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *Error) Hint() string {
	return "start the service, correct its URL in the settings, or remove it from them"
}

// Detect asks the service about a text. The error is a *Error.
func (s *Service) Detect(ctx context.Context, text string) ([]detect.Match, error) {
	found, err := s.ask(ctx, text)
	if err != nil {
		return nil, &Error{s.URL, err}
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

func (s *Service) ask(ctx context.Context, text string) ([]detect.Match, error) {
	language, timeout, types := s.Language, s.Timeout, s.Types
	if language == "" {
		language = "en"
	}
	if timeout == 0 {
		timeout = usualTime
	}
	if types == nil {
		types = Types()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"text": text, "language": language})
	if err != nil {
		return nil, err
	}
	service := strings.TrimSuffix(strings.TrimSuffix(s.URL, "/"), "/analyze") + "/analyze"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, service, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the text is for this service only
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer in %v", timeout)
		}
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", response.StatusCode)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	var analyses []analysis
	if err := json.Unmarshal(answer, &analyses); err != nil {
		return nil, errors.New("its answer is not a list of matches")
	}
	return s.matches(text, analyses, types)
}

// matches returns what of an answer counts.
func (s *Service) matches(text string, analyses []analysis, types map[string]detect.Type) ([]detect.Match, error) {
	offsets := make([]int, 0, utf8.RuneCountInString(text)+1)
	for i := range text { // a byte that is not UTF-8 is one code point, as json.Marshal writes it
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	var found []detect.Match
	for _, a := range analyses {
		typ, ok := types[a.Entity]
		if !ok || a.Score < s.MinScore {
			continue
		}
		if a.Start < 0 || a.End <= a.Start || a.End >= len(offsets) {
			return nil, fmt.Errorf("its match from %d to %d is not in the text", a.Start, a.End)
		}
		found = append(found, detect.Match{Start: offsets[a.Start], End: offsets[a.End], Type: typ})
	}
	return found, nil
}
