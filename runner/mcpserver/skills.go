package mcpserver

import (
	"context"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
)

const maxSkillName = 200 // bytes

func (c *toolCall) skills() (*skill.Store, error) {
	if c.cs.customer.Skills != nil {
		return c.cs.customer.Skills()
	}
	return nil, c.errorf("there are no skills here: the server was started without a folder for them")
}

// skillReply is the structured content about a skill.
type skillReply struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Language    string   `json:"language,omitempty"`
	Version     string   `json:"version,omitempty"`
	Path        string   `json:"path,omitempty"` // the path from which scripts import it
	Code        string   `json:"code,omitempty"`
	Broken      bool     `json:"broken,omitempty"`
	Reason      string   `json:"reason,omitempty"` // why it is broken
	Warnings    []string `json:"warnings,omitempty"`
}

// replyOf describes a skill without its code, in single lines without invisible characters.
func replyOf(k *skill.Skill) skillReply {
	r := skillReply{
		Name: ident.CleanLine(k.Name), Description: ident.CleanLine(k.Description), Language: string(k.Language()),
		Version: k.Version[:min(len(k.Version), 12)], Broken: k.Broken, Reason: ident.CleanLine(k.Reason()),
	}
	for _, line := range k.Suspicious {
		r.Warnings = append(r.Warnings, "suspicious: "+ident.CleanLine(line))
	}
	if r.Language != "" {
		r.Path = "./skills/" + r.Name
	}
	if r.Language == Python {
		r.Path = "skills." + strings.ReplaceAll(r.Name, "-", "_")
	}
	return r
}

type saveSkillArgs struct {
	Name        string `json:"name" required:""`
	Code        string `json:"code" required:""`
	Description string `json:"description"`
	Language    string `json:"language"`
}

func callSaveSkill(ctx context.Context, c *toolCall, args *saveSkillArgs) (*reply, error) {
	if len(args.Name) > maxSkillName || len(args.Code) > maxCode {
		return nil, c.errorf("a name has at most %d bytes, code at most %d", maxSkillName, maxCode)
	}
	language, err := c.language(args.Language, args.Code)
	if err != nil {
		return nil, err
	}
	code, err := c.restored(args.Code)
	if err != nil {
		return nil, err
	}
	description, err := c.restored(args.Description)
	if err != nil {
		return nil, err
	}
	skills, err := c.skills()
	if err != nil {
		return nil, err
	}
	const overhead = 8 << 10 // SKILL.md and the files of a version
	if err := c.checkRoom(ctx, int64(len(code)+len(description)+overhead)); err != nil {
		return nil, err
	}
	taint, err := c.taint(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.used(ctx, args.Name); err != nil {
		return nil, err
	}
	saved, err := skills.Save(ctx, skill.Draft{
		Name: args.Name, Description: description, Language: sandbox.Language(language), Code: code, Author: skill.AuthorAgent, Taint: taint,
	})
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	r := replyOf(saved.Skill)
	r.Description = "" // the model has just written it
	r.Warnings = cleanLines(saved.Warnings)
	for i := range r.Warnings {
		r.Warnings[i] = forModel(r.Warnings[i])
	}
	text := "saved " + r.Name + "; scripts import it with: " + ident.CleanLine(saved.Skill.Import(sandbox.Language(language)))
	for _, w := range r.Warnings {
		text += "\nwarning: " + w
	}
	return &reply{text: text, data: r}, nil
}

type loadSkillArgs struct {
	Name string `json:"name" required:""`
}

func callLoadSkill(ctx context.Context, c *toolCall, args *loadSkillArgs) (*reply, error) {
	skills, err := c.skills()
	if err != nil {
		return nil, err
	}
	if len(args.Name) > maxSkillName {
		return nil, c.errorf("a name has at most %d bytes", maxSkillName)
	}
	k, err := skills.Load(args.Name)
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	if err := c.cs.gets(ctx, c.session, k); err != nil {
		return nil, err
	}
	if err := c.used(ctx, args.Name); err != nil {
		return nil, err
	}
	r := replyOf(k)
	_, code, ok := k.Main("")
	if !ok {
		code = k.Instructions()
	}
	r.Code = cutText(c.cs.personal().Mask(code), c.cs.s.opt.MaxText) // masked whole, since half of an address would not be recognized
	text := r.Code
	if r.Broken {
		text = "BROKEN: " + r.Reason + "\n" + text
	}
	for _, w := range r.Warnings {
		text = "WARNING: " + w + "\n" + text
	}
	return &reply{text: text, data: r}, nil
}

// queryArgs are the arguments of tools that list things.
type queryArgs struct {
	Query string `json:"query"`
}

func callListSkills(ctx context.Context, c *toolCall, args *queryArgs) (*reply, error) {
	skills, err := c.skills()
	if err != nil {
		return nil, err
	}
	found, err := skills.Search(args.Query)
	if err != nil {
		return nil, c.errorf("%v", err)
	}
	if err := c.cs.gets(ctx, c.session, found...); err != nil {
		return nil, err
	}
	list, rows := []skillReply{}, []string{}
	for _, k := range found {
		r := replyOf(k)
		list = append(list, r)
		row := r.Name + ": " + r.Description
		if r.Broken {
			row += " (broken: " + r.Reason + ")"
		}
		if len(r.Warnings) > 0 {
			row += " (" + strings.Join(r.Warnings, "; ") + ")"
		}
		rows = append(rows, row)
	}
	text := strings.Join(rows, "\n")
	switch {
	case len(list) == 0 && strings.TrimSpace(args.Query) == "":
		text = "there are no skills yet"
	case len(list) == 0:
		text = "no skill has the query's words in its name, triggers or description; leave the query out to list all"
	}
	return &reply{text: cutText(text, c.cs.s.opt.MaxText), data: map[string]any{"count": len(list), "skills": list}}, nil
}
