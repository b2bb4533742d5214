package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// maxListed bounds the number of skills in a list.
const maxListed = 200

// listedSkill is a skill in a list.
type listedSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Language    string `json:"language"` // of the main script; empty if the skill has only instructions
	Version     string `json:"version"`
	Broken      bool   `json:"broken,omitempty"`
	Reason      string `json:"reason,omitempty"` // why it is broken
	// Suspicious is the value of [skill.Skill.Suspicious].
	Suspicious []string `json:"suspicious,omitempty"`
}

// loadedSkill is a skill with everything that its users need.
type loadedSkill struct {
	listedSkill
	Code         string           `json:"code"` // of the main script
	Path         string           `json:"path"` // of the main script, as scripts see it: skills/NAME/scripts/main.ts
	Import       string           `json:"import,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	Files        []skill.FileInfo `json:"files,omitempty"`
}

func listed(k *skill.Skill) listedSkill {
	return listedSkill{Name: k.Name, Description: k.Description, Language: string(k.Language()), Version: k.Version, Broken: k.Broken, Reason: k.Reason(), Suspicious: k.Suspicious}
}

func loaded(k *skill.Skill) loadedSkill {
	l := loadedSkill{listedSkill: listed(k), Instructions: k.Instructions(), Files: k.Files(), Path: "skills/" + k.Name + "/" + skill.File}
	if name, code, ok := k.Main(""); ok {
		l.Code, l.Path, l.Import = code, "skills/"+k.Name+"/"+name, k.Import(k.Language())
	}
	return l
}

// saveSkill answers skills/save. A script cannot replace a skill that a person saved or that is read-only.
func (h *Methods) saveSkill(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ Name, Code, Language, Description string }
	if err := read(methodSaveSkill, params, &in); err != nil {
		return nil, err
	}
	if in.Code == "" {
		return nil, badParams(methodSaveSkill, "code is missing")
	}
	return h.withSkills(ctx, func(s *skill.Store) (any, error) {
		saved, err := s.Save(ctx, skill.Draft{Name: in.Name, Description: in.Description, Language: sandbox.Language(in.Language), Code: in.Code, Author: skill.AuthorScript, Taint: h.taint()})
		if err != nil {
			return nil, err
		}
		return map[string]any{"name": saved.Name, "version": saved.Version, "path": loaded(saved.Skill).Path, "warnings": append([]string{}, saved.Warnings...)}, nil
	})
}

// loadSkill answers skills/load.
func (h *Methods) loadSkill(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ Name string }
	if err := read(methodLoadSkill, params, &in); err != nil {
		return nil, err
	}
	return h.withSkills(ctx, func(s *skill.Store) (any, error) {
		k, err := s.Load(in.Name)
		if err != nil {
			return nil, err
		}
		return loaded(k), h.inherit(k)
	})
}

// listSkills answers skills/list.
func (h *Methods) listSkills(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ Query string }
	if err := read(methodListSkills, params, &in); err != nil {
		return nil, err
	}
	return h.withSkills(ctx, func(s *skill.Store) (any, error) {
		all, err := s.Search(in.Query)
		if err != nil {
			return nil, err
		}
		list := struct {
			Skills []listedSkill `json:"skills"`
			More   int           `json:"more,omitempty"`
		}{Skills: []listedSkill{}, More: max(0, len(all)-maxListed)}
		for _, k := range all[:min(len(all), maxListed)] {
			list.Skills = append(list.Skills, listed(k))
		}
		return list, h.inherit(all[:len(list.Skills)]...)
	})
}

// taint returns the servers whose data the run has received.
func (h *Methods) taint() []string {
	if h.Run == nil {
		return nil
	}
	return h.Run.Taint()
}

// inherit records that the run receives the taint of skills.
func (h *Methods) inherit(skills ...*skill.Skill) error {
	if h.Run == nil {
		return nil
	}
	from := map[string]string{}
	for _, k := range skills {
		maps.Copy(from, skill.Origin(k.Name, k.Taint))
	}
	return h.Run.Inherit(from)
}

// withSkills calls do with the skills, and returns its result as JSON.
func (h *Methods) withSkills(ctx context.Context, do func(*skill.Store) (any, error)) (json.RawMessage, error) {
	store, err := h.Skills()
	var result any
	if err == nil {
		result, err = do(store)
	}
	if err == nil {
		return json.Marshal(result)
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case path || link:
		return nil, h.internal("the folder of skills", err)
	}
	return nil, &call.Error{Kind: call.KindArgument, Message: err.Error(), Cause: err}
}
