package filesystem

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type readInput struct {
	Path     string `json:"path" minlen:"1" maxlen:"1024" example:"notes/capacity-plan.md" jsonschema:"The file, relative to the served folder."`
	Head     *int   `json:"head,omitempty" min:"1" jsonschema:"Return only this many lines from the start."`
	Tail     *int   `json:"tail,omitempty" min:"1" jsonschema:"Return only this many lines from the end. Cannot be combined with head."`
	Encoding string `json:"encoding,omitempty" enum:"utf-8,base64" default:"utf-8" jsonschema:"How content is returned: as text, or the bytes in base64 for files that are not text."`
}

type readOutput struct {
	Path       string `json:"path" jsonschema:"The file that was read."`
	Content    string `json:"content" jsonschema:"The content, in the encoding asked for."`
	Encoding   string `json:"encoding" enum:"utf-8,base64" jsonschema:"The encoding of content."`
	SizeBytes  int    `json:"size_bytes" jsonschema:"The size of the whole file in bytes."`
	TotalLines *int   `json:"total_lines" jsonschema:"How many lines the whole file has; null for base64."`
	Truncated  bool   `json:"truncated" jsonschema:"True when head or tail left lines out."`
}

type readManyInput struct {
	Paths []string `json:"paths" minitems:"1" maxitems:"50" minlen:"1" maxlen:"1024" jsonschema:"The files, relative to the served folder."`
}

type readManyFile struct {
	Path    string  `json:"path" jsonschema:"The path as it was given."`
	Content *string `json:"content" jsonschema:"The text of the file, or null when it could not be read."`
	Error   *string `json:"error" jsonschema:"Why it could not be read, or null."`
}

type readManyOutput struct {
	Files []readManyFile `json:"files" jsonschema:"One entry for each path, in the order given."`
}

type pathInput struct {
	Path string `json:"path" minlen:"1" maxlen:"1024" jsonschema:"The path, relative to the served folder."`
}

type listInput struct {
	Path   string `json:"path,omitempty" default:"." minlen:"1" maxlen:"1024" jsonschema:"The directory, relative to the served folder; the folder itself by default."`
	SortBy string `json:"sort_by,omitempty" enum:"name,size,modified" default:"name" jsonschema:"The order of entries: by name ascending, largest first, or newest first."`
}

type entry struct {
	Name      string    `json:"name" jsonschema:"The name without directories."`
	Path      string    `json:"path" jsonschema:"The path relative to the served folder."`
	Type      string    `json:"type" enum:"file,directory,symlink,other" jsonschema:"What it is. Links are not followed."`
	SizeBytes int64     `json:"size_bytes" jsonschema:"The size in bytes; 0 for directories."`
	Modified  time.Time `json:"modified" format:"date-time" jsonschema:"When it was last changed (RFC 3339, UTC)."`
}

type listOutput struct {
	Path    string  `json:"path" jsonschema:"The directory."`
	Entries []entry `json:"entries" jsonschema:"What it holds."`
}

type infoOutput struct {
	entry
	Permissions string  `json:"permissions" example:"-rw-r--r--" jsonschema:"Unix permissions as text."`
	LinkTarget  *string `json:"link_target" jsonschema:"Where a symbolic link points, or null."`
}

func (f *folder) addReaders(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "read_file", Title: "Read file", Effect: tool.Reads,
		Description: "Read a file of up to 10 MiB, whole or only its first (head) or last (tail) lines. Text must be UTF-8; use encoding \"base64\" for anything else. For several files use read_multiple_files."}, f.readFile)
	tool.Add(s, tool.Spec{Name: "read_multiple_files", Title: "Read multiple files", Effect: tool.Reads,
		Description: "Read up to 50 text files in one call. A file that cannot be read has its error in its entry and does not fail the others."}, f.readMany)
	tool.Add(s, tool.Spec{Name: "list_directory", Title: "List directory", Effect: tool.Reads,
		Description: "List what a directory holds, with types, sizes and times; not recursive. Use directory_tree for everything below it, search_files to find something."}, f.list)
	tool.Add(s, tool.Spec{Name: "directory_tree", Title: "Directory tree", Effect: tool.Reads, Output: treeSchema(),
		Description: "Get a directory with everything below it as a tree, down to max_depth levels and at most 5,000 entries; truncated says that something was left out. Symbolic links are shown, not followed."}, f.tree)
	tool.Add(s, tool.Spec{Name: "get_file_info", Title: "Get file info", Effect: tool.Reads,
		Description: "Get the type, size, time of change and permissions of a file or directory without reading it. For a symbolic link this is about the link itself."}, f.info)
	tool.Add(s, tool.Spec{Name: "search_files", Title: "Search files", Effect: tool.Reads,
		Description: "Find files below a directory by name (glob such as \"*.md\"; \"**/\" is implied), by content (plain text, or a regular expression in RE2 syntax), or both. Returns matching lines with their numbers. Binary files and files over 10 MiB are skipped when searching content."}, f.search)
}

func (f *folder) readFile(_ context.Context, in readInput) (readOutput, error) {
	if in.Head != nil && in.Tail != nil {
		return readOutput{}, errors.New("give head or tail, not both")
	}
	if in.Encoding == "base64" {
		content, err := f.read(in.Path)
		if err == nil && (in.Head != nil || in.Tail != nil) {
			err = errors.New("head and tail count lines and need encoding \"utf-8\"")
		}
		return readOutput{Path: in.Path, Content: base64.StdEncoding.EncodeToString(content), Encoding: "base64", SizeBytes: len(content)}, err
	}
	text, err := f.readText(in.Path)
	if err != nil {
		return readOutput{}, err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1] // the end of the last line starts no new one
	}
	total, kept := len(lines), lines
	if in.Head != nil {
		kept = lines[:min(*in.Head, total)]
	}
	if in.Tail != nil {
		kept = lines[total-min(*in.Tail, total):]
	}
	return readOutput{Path: in.Path, Content: strings.Join(kept, ""), Encoding: "utf-8",
		SizeBytes: len(text), TotalLines: &total, Truncated: len(kept) < total}, nil
}

func (f *folder) readMany(_ context.Context, in readManyInput) (readManyOutput, error) {
	out := readManyOutput{Files: []readManyFile{}}
	for _, name := range in.Paths {
		file := readManyFile{Path: name}
		if text, err := f.readText(name); err != nil {
			message := err.Error()
			file.Error = &message
		} else {
			file.Content = &text
		}
		out.Files = append(out.Files, file)
	}
	return out, nil
}

func (f *folder) info(_ context.Context, in pathInput) (infoOutput, error) {
	name := path.Clean(in.Path)
	info, err := f.root.Lstat(name)
	if err != nil {
		return infoOutput{}, explain(in.Path, err)
	}
	out := infoOutput{entry: newEntry(name, info), Permissions: info.Mode().String()}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := f.root.Readlink(name)
		if err != nil {
			return infoOutput{}, explain(in.Path, err)
		}
		out.LinkTarget = &target
	}
	return out, nil
}

// treeSchema describes [treeNode], which contains itself: a Go type cannot be
// inferred for that.
func treeSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"root":      {Ref: "#/$defs/node", Description: "The directory asked for."},
			"entries":   {Type: "integer", Description: "How many entries the tree has, without the root."},
			"truncated": {Type: "boolean", Description: "True when max_depth or the limit of entries left something out."},
		},
		PropertyOrder:        []string{"root", "entries", "truncated"},
		Required:             []string{"root", "entries", "truncated"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Defs: map[string]*jsonschema.Schema{"node": {
			Type:        "object",
			Description: "A file or directory.",
			Properties: map[string]*jsonschema.Schema{
				"name":       {Type: "string", Description: "The name without directories."},
				"type":       {Type: "string", Enum: []any{"file", "directory", "symlink", "other"}, Description: "What it is."},
				"size_bytes": {Type: "integer", Description: "The size in bytes; only for files."},
				"children":   {Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/node"}, Description: "What a directory holds, sorted by name; only for directories."},
			},
			PropertyOrder:        []string{"name", "type", "size_bytes", "children"},
			Required:             []string{"name", "type"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}},
	}
}
