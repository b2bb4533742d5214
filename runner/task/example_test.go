package task_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/task"
)

// recorded is a model that always answers the same. A real one is that of [model.New].
type recorded string

func (recorded) Name() string { return "recorded" }

func (r recorded) Generate(context.Context, *model.Request) (*model.Response, error) {
	return &model.Response{Text: string(r), Stop: model.StopEnd, Usage: model.Usage{Input: 900, Output: 60}}, nil
}

// A task in words becomes a script with the tools that it needs, and its result.
func ExampleDo() {
	tree, err := gen.Open(gen.Options{Out: "../../servers"})
	if err != nil {
		panic(err)
	}
	answer := recorded("```ts\nimport { evaluate } from \"./servers/calculator\";\nexport const result = (await evaluate({ expression: \"5 + 3\" })).result;\n```")
	out, err := task.Do(context.Background(), "Evaluate 5 + 3", task.Options{
		Tree: &task.Tree{Tree: tree, Index: tree.Index(nil)}, Model: answer, Repairs: task.DefaultRepairs,
		Run: func(_ context.Context, s *task.Script) (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseExit, Value: []byte("8")}, nil // here, runner.Runner.Launch
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Selection)
	fmt.Print(out.Script.Code)
	fmt.Println(string(out.Result), out.Model.Input+out.Model.Output, "tokens")
	// Output:
	// 42 tools found in 6 servers, 3 selected (7 %, 93 % not loaded) by words: calculator (evaluate, multiply, add)
	// import { evaluate } from "./servers/calculator";
	// export const result = (await evaluate({ expression: "5 + 3" })).result;
	// 8 960 tokens
}
