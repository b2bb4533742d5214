package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	reviewPattern = regexp.MustCompile(`href="(/question[^"]*)"`)
	hiddenPattern = regexp.MustCompile(`name="(form|socket|id)" value="([^"]*)"`)
)

// answer TITLE ANSWER: a person answers the question with that title whose process has ended, on the page of mcprun approvals. The file url has
// the page's address; the file cookie is the browser's.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answer TITLE ANSWER")
	}
	var err error
	for range 1500 {
		var done bool
		if done, err = answerAt(ts, args[0], args[1]); done {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("the question was never there: %v", err)
}

func answerAt(ts *testscript.TestScript, title, answer string) (done bool, err error) {
	text, err := os.ReadFile(ts.MkAbs("url"))
	first, whole := strings.CutSuffix(string(text), "\n")
	if err != nil || !whole {
		return false, errors.Join(err, errors.New("no address yet"))
	}
	address, err := url.Parse(first)
	if err != nil {
		return false, err
	}
	cookie, err := os.ReadFile(ts.MkAbs("cookie"))
	if err != nil {
		res, err := http.DefaultTransport.RoundTrip(&http.Request{Method: http.MethodGet, URL: address, Header: http.Header{}})
		if err != nil {
			return false, err
		}
		res.Body.Close()
		cookie = []byte(res.Cookies()[0].String())
		ts.Check(os.WriteFile(ts.MkAbs("cookie"), cookie, 0o600))
	}
	ask := func(method, path, body string) (string, error) {
		req, err := http.NewRequest(method, "http://"+address.Host+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		name, _, _ := strings.Cut(string(cookie), ";")
		req.Header = http.Header{"Cookie": {name}, "Content-Type": {"application/x-www-form-urlencoded"}}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode >= 400 {
			err = fmt.Errorf("%s: %s", res.Status, text)
		}
		return string(text), err
	}
	list, err := ask(http.MethodGet, "/", "")
	if err != nil {
		return false, err
	}
	for _, link := range reviewPattern.FindAllStringSubmatch(list, -1) {
		page, err := ask(http.MethodGet, html.UnescapeString(link[1]), "")
		if err != nil || !strings.Contains(page, title) || !strings.Contains(page, "has ended") {
			continue
		}
		form := url.Values{"answer": {answer}}
		for _, field := range hiddenPattern.FindAllStringSubmatch(page, -1) {
			form.Set(field[1], html.UnescapeString(field[2]))
		}
		_, err = ask(http.MethodPost, "/answer", form.Encode())
		return err == nil, err
	}
	return false, fmt.Errorf("the page has no such question: %s", list)
}
