package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// Names of the protocol extension "Skills over MCP" (SEP-2640).
const (
	skillsExtension = "io.modelcontextprotocol/skills"
	skillScheme     = "skill://"
	skillTTL        = 60_000 // ms
)

type skillsListParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type skillGetParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

// cached has the members that results of stateless revisions need. Clients of older revisions ignore them.
type cached struct {
	ResultType string `json:"resultType"`
	TTLMs      int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

var fresh = cached{"complete", skillTTL, "private"}

type skillsListResult struct {
	mcp.ResultBase
	cached
	Skills []skillEntry `json:"skills"`
}

type skillGetResult struct {
	mcp.ResultBase
	cached
	Skill skillEntry `json:"skill"`
}

type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// serveSkills offers the customer's skills through the extension, and their files as resources.
func (cs *customerServer) serveSkills() {
	err := mcp.AddReceivingCustomMethod(cs.mcp, "skills/list", func(ctx context.Context, client *mcp.ServerSession, p *skillsListParams) (*skillsListResult, error) {
		if p != nil && p.Cursor != "" {
			return nil, invalidParams("there is only one page")
		}
		list, err := cs.published()
		if err != nil {
			return nil, err
		}
		if err := cs.getsIn(ctx, client, list...); err != nil {
			return nil, err
		}
		res := &skillsListResult{cached: fresh, Skills: []skillEntry{}}
		for _, k := range list {
			res.Skills = append(res.Skills, entryOf(k))
		}
		return res, nil
	})
	if err == nil {
		err = mcp.AddReceivingCustomMethod(cs.mcp, "skills/get", func(ctx context.Context, client *mcp.ServerSession, p *skillGetParams) (*skillGetResult, error) {
			if p == nil {
				return nil, invalidParams("the uri is missing")
			}
			k, file, err := cs.findFile(p.URI)
			if err != nil {
				return nil, err
			}
			if file != skill.File {
				return nil, invalidParams("the uri of a skill ends with /" + skill.File)
			}
			if err := cs.getsIn(ctx, client, k); err != nil {
				return nil, err
			}
			return &skillGetResult{cached: fresh, Skill: entryOf(k)}, nil
		})
	}
	if err != nil {
		panic(err) // the names are constants
	}
	cs.mcp.AddResourceTemplate(&mcp.ResourceTemplate{Name: "skill", URITemplate: skillScheme + "{name}/{+file}", Description: "Files of skills"}, cs.readSkill)
}

// readSkill reads a file of a skill.
func (cs *customerServer) readSkill(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	k, file, err := cs.findFile(req.Params.URI)
	if err != nil {
		return nil, err
	}
	if err := cs.gets(ctx, sessionOf(req), k); err != nil {
		return nil, err
	}
	data, err := k.Read(file)
	if err != nil {
		return nil, err
	}
	contents := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: mimeTypeOf(file)}
	if utf8.Valid(data) {
		contents.Text = string(data)
	} else {
		contents.Blob = data
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// listSkillResources adds the skills to a list of resources. They are read from the store for each request, because they change. It also
// rejects unknown URIs, because go-sdk would write the client's text into JSON unescaped.
func (cs *customerServer) listSkillResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.ReadResourceParams); ok && p != nil {
			if _, _, err := cs.findFile(p.URI); err != nil {
				return nil, err
			}
		}
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListResourcesResult)
		if err != nil || !ok || cs.customer.Skills == nil {
			return res, err
		}
		skills, err := cs.published()
		if err != nil {
			return nil, err
		}
		if err := cs.getsIn(ctx, req.GetSession(), skills...); err != nil {
			return nil, err
		}
		for _, k := range skills {
			list.Resources = append(list.Resources, &mcp.Resource{
				URI: skillURI(k.Name, skill.File), Name: k.Name, Description: ident.CleanLine(k.Description), MIMEType: mimeTypeOf(skill.File),
			})
		}
		return list, nil
	}
}

func entryOf(k *skill.Skill) skillEntry {
	e := skillEntry{URI: skillURI(k.Name, skill.File), Frontmatter: k.Frontmatter(), Resources: []skillResource{}}
	for _, f := range k.Files() {
		e.Resources = append(e.Resources, skillResource{skillURI(k.Name, f.Path), f.Digest, f.Size})
	}
	return e
}

// skillURI returns the URI of a skill's file. File names may contain characters that must be escaped in a URI.
func skillURI(name, file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return skillScheme + name + "/" + strings.Join(parts, "/")
}

// published returns the skills that hosts see. Broken ones are left out.
func (cs *customerServer) published() ([]*skill.Skill, error) {
	store, err := cs.customer.Skills()
	if err != nil {
		return nil, err
	}
	list, err := store.List()
	return slices.DeleteFunc(list, func(k *skill.Skill) bool { return k.Broken }), err
}

// findFile finds a published skill and one of its files by the URI of the file.
func (cs *customerServer) findFile(uri string) (*skill.Skill, string, error) {
	rest, isSkill := strings.CutPrefix(uri, skillScheme)
	name, escaped, ok := strings.Cut(rest, "/")
	file, err := url.PathUnescape(escaped)
	if !isSkill || !ok || err != nil || cs.customer.Skills == nil {
		return nil, "", noResource(uri)
	}
	list, err := cs.published()
	if err != nil {
		return nil, "", err
	}
	for _, k := range list {
		if k.Name == name && slices.ContainsFunc(k.Files(), func(f skill.FileInfo) bool { return f.Path == file }) {
			return k, file, nil
		}
	}
	return nil, "", noResource(uri)
}

// mimeTypes are the types of files by extension. The results of the mime package would differ between machines.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", "": "text/plain", ".html": "text/html", ".css": "text/css", ".xml": "text/xml", ".csv": "text/csv",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".pdf": "application/pdf",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

func mimeTypeOf(file string) string {
	extension := strings.ToLower(path.Ext(file))
	switch {
	case sandbox.JavaScript(file):
		return "text/javascript"
	case slices.Contains(sandbox.LangTypeScript.Extensions(), extension):
		return "text/x-typescript"
	case slices.Contains(sandbox.LangPython.Extensions(), extension):
		return "text/x-python"
	}
	return cmp.Or(mimeTypes[extension], "application/octet-stream")
}

// noResource returns the error for an unknown URI, with the URI as the error's data.
func noResource(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such resource; skills/list lists those that exist", Data: data}
}
