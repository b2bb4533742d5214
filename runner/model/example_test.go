package model_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

func ExampleNew() {
	endpoint := httptest.NewServer(&modeltest.Server{Answer: func(modeltest.Request) modeltest.Answer { // for this example
		return modeltest.Answer{Text: "Four.", Input: 20, Output: 2}
	}})
	defer endpoint.Close()
	c, err := model.New(model.Options{Provider: model.Anthropic, Model: "claude-sonnet-5", URL: endpoint.URL, Key: "from-a-keyring"})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := c.Generate(context.Background(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "What is 2 + 2?"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s It used %d tokens, or $%f.\n", answer.Text, answer.Usage.Input+answer.Usage.Output, answer.Usage.Cost)
	// Output: Four. It used 22 tokens, or $0.000060.
}
