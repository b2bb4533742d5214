package presidio_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpgen/mcpgen/runner/pii/presidio"
)

func ExampleService() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"start": 0, "end": 3, "entity_type": "PERSON", "score": 0.85}]`)
	}))
	defer server.Close()
	s := &presidio.Service{Client: server.Client(), URL: server.URL}
	text := "Zoë is here"
	found, err := s.Detect(context.Background(), text)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range found {
		fmt.Println(m.Type, text[m.Start:m.End])
	}
	// Output: NAME Zoë
}
