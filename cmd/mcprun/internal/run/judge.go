package run

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// floor returns the least risk that scripts are taken to have.
func (o *Options) floor() risk.Risk { return max(o.risk, o.author.Risk()) }

// judge sets the risk of a script, and refuses one that must be restricted and is not.
func (o *Options) judge(ctx context.Context, at *Host, s *runner.Script) error {
	s.Floor = max(s.Floor, o.risk)
	s.Risk = max(s.Risk, s.Floor)
	report, err := at.Runner.Judge(ctx, s, at.backends, judge.Options{
		Restricted: s.Restricted,
		Quick:      (o.policy == nil || !o.policy.NeedsProgram()) && !s.Restricted && s.Floor == risk.None,
	})
	if _, bad := errors.AsType[*script.Error](err); bad && !s.Restricted {
		return nil // the run reports it in more detail
	}
	if err != nil {
		return err
	}
	if s.Risk, s.RiskReason = max(s.Floor, report.Risk), report.Reason; s.Floor > report.Risk {
		s.RiskReason = "it was set"
	}
	if err := o.checkRun(s, report); err != nil {
		return err
	}
	if s.Restricted {
		return runner.Refuse(s.Name, report)
	}
	return nil
}
