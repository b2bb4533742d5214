package customer

import "encoding/json"

// Decisions returns what rules and people decided in a run, to be kept elsewhere than in a session: the run without output, result, files, and
// calls that no rule decided, cut and masked as in a log. mask may be nil.
func (r *Run) Decisions(mask func(json.RawMessage) json.RawMessage) *Run {
	kept := *r
	kept.Calls, kept.Steps, kept.Output, kept.Result, kept.Files, kept.Tokens = decided(r.Calls), nil, "", nil, nil, nil
	return Record{Kind: KindRun, Run: &kept}.cut(2).masked(mask).cut(1).Run
}
