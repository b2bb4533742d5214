package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names of the protocol extension for tasks (SEP-2663). A call that takes long is answered with a task, which the client polls.
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	methodGet      = "tasks/get"
	methodUpdate   = "tasks/update"
	methodCancel   = "tasks/cancel"
)

// taskMethods are the methods of the extension.
var taskMethods = []string{methodGet, methodUpdate, methodCancel}

// pollInterval is the pause between two polls that clients are advised to make.
const pollInterval = time.Second

// The states of a task. The last three are final.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskUpdateParams struct {
	mcp.ParamsBase
	TaskID    string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

// taskResult is a task on the wire: the answer to tasks/get, and without its last members the answer to the call that became the task.
type taskResult struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      string              `json:"createdAt"`
	LastUpdatedAt  string              `json:"lastUpdatedAt"`
	TTLMs          int64               `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result         json.RawMessage     `json:"result,omitempty"`
	Error          *jsonrpc.Error      `json:"error,omitempty"`
}

type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// serveTasks offers the extension's methods.
func (cs *customerServer) serveTasks() {
	err := mcp.AddReceivingCustomMethod(cs.mcp, methodGet, func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (*taskResult, error) {
		return cs.tasks.get(ctx, p.TaskID)
	})
	if err == nil {
		err = mcp.AddReceivingCustomMethod(cs.mcp, methodUpdate, func(ctx context.Context, _ *mcp.ServerSession, p *taskUpdateParams) (*acknowledged, error) {
			return &acknowledged{ResultType: "complete"}, cs.tasks.update(ctx, p.TaskID, p.Responses)
		})
	}
	if err == nil {
		err = mcp.AddReceivingCustomMethod(cs.mcp, methodCancel, func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
			return &acknowledged{ResultType: "complete"}, cs.tasks.cancel(ctx, p.TaskID)
		})
	}
	if err != nil {
		panic(err) // the names are constants
	}
}

// takesTasks reports whether a request declares the extension. Each request must: a client may take a task for one call and not for another.
func takesTasks(req mcp.Request) bool {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return r.Params != nil && declaresTasks(r)
	case *mcp.ServerRequest[*taskParams]:
		return r.Params != nil && declaresTasks(r) // the SDK panics without parameters
	case *mcp.ServerRequest[*taskUpdateParams]:
		return r.Params != nil && declaresTasks(r)
	}
	return false
}

func declaresTasks(req interface {
	ProtocolVersion() string
	ClientCapabilities() *mcp.ClientCapabilities
}) bool {
	caps := req.ClientCapabilities()
	if caps == nil || req.ProtocolVersion() < firstStateless {
		return false
	}
	_, declared := caps.Extensions[tasksExtension]
	return declared
}

// madeTask receives the task that a call became, on its way around the SDK, whose handlers of tools return nothing else than a
// CallToolResult.
type madeTask struct{ result *taskResult }

type madeTaskKey struct{}

// tasked answers a call with the task that it became, and refuses the extension's methods to clients that do not declare it.
func (cs *customerServer) tasked(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch {
		case slices.Contains(taskMethods, method):
			if !takesTasks(req) {
				return nil, &jsonrpc.Error{
					Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client does not declare the extension " + tasksExtension + " in this request",
					Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
				}
			}
		case takesTasks(req):
			made := &madeTask{}
			res, err := next(context.WithValue(ctx, madeTaskKey{}, made), method, req)
			if err == nil && made.result != nil {
				return made.result, nil
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}
