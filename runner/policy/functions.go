package policy

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/mcpgen/mcpgen/runner/internal/expr"
	"github.com/mcpgen/mcpgen/runner/policy/internal/spelling"
)

// bytesPerCost is the number of bytes a function reads per unit of cost.
const bytesPerCost = 500

// functions returns what conditions have in addition to the functions of all expressions: those that read paths, URLs and mail
// addresses. If one fails, the call is denied.
func functions() []cel.EnvOption {
	texts := cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("under", cel.Overload("under_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(path, dir ref.Val) ref.Val {
				return result(spelling.Under(string(path.(types.String)), string(dir.(types.String))))
			}))),
		cel.Function("host", cel.Overload("host_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(url ref.Val) ref.Val { return result(spelling.Host(string(url.(types.String)))) }))),
		cel.Function("domain", cel.Overload("domain_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(email ref.Val) ref.Val { return result(spelling.Domain(string(email.(types.String)))) }))),
		cel.Function("emails", cel.Overload("emails_dyn", []*cel.Type{cel.DynType}, texts,
			cel.UnaryBinding(func(value ref.Val) ref.Val { return result(spelling.Emails(expr.Native(value))) }))),
		cel.Function("paths", cel.Overload("paths_dyn", []*cel.Type{cel.DynType}, texts,
			cel.UnaryBinding(func(value ref.Val) ref.Val { return result(spelling.Paths(expr.Native(value)), nil) }))),
	}
}

// costs returns the costs of the functions, which read all texts of a value.
func costs() cel.ProgramOption {
	read := func(args []ref.Val, _ ref.Val) *uint64 {
		cost := uint64(1)
		for _, arg := range args {
			cost += uint64(weight(expr.Native(arg)))
		}
		return &cost
	}
	var options []interpreter.CostTrackerOption
	for _, overload := range []string{"under_string_string", "host_string", "domain_string", "emails_dyn", "paths_dyn"} {
		options = append(options, interpreter.OverloadCostTracker(overload, read))
	}
	return cel.CostTrackerOptions(options...)
}

func weight(value any) int {
	n := 1
	switch v := value.(type) {
	case string:
		return 1 + len(v)/bytesPerCost
	case []any:
		for _, item := range v {
			n += weight(item)
		}
	case map[string]any:
		for key, item := range v {
			n += len(key)/bytesPerCost + weight(item)
		}
	}
	return n
}

// result converts the result of a Go function to a CEL value.
func result[T any](value T, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}
