package filesystem

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

type writeInput struct {
	Path          string `json:"path" minlen:"1" maxlen:"1024" example:"reports/summary.md" jsonschema:"The file, relative to the served folder."`
	Content       string `json:"content" maxlen:"14000000" jsonschema:"What to write, in the given encoding."`
	Mode          string `json:"mode,omitempty" enum:"create,overwrite,append" default:"overwrite" jsonschema:"create fails if the file exists, overwrite replaces it as a whole, append adds at its end."`
	Encoding      string `json:"encoding,omitempty" enum:"utf-8,base64" default:"utf-8" jsonschema:"How content is given: as text, or bytes in base64."`
	CreateParents bool   `json:"create_parents,omitempty" default:"true" jsonschema:"Create missing directories of the path."`
}

type writeOutput struct {
	Path      string `json:"path" jsonschema:"The file that was written."`
	SizeBytes int    `json:"size_bytes" jsonschema:"The size of the file now."`
	Created   bool   `json:"created" jsonschema:"True when the file did not exist before."`
}

type textEdit struct {
	OldText string `json:"old_text" minlen:"1" jsonschema:"The exact text to replace. It must occur exactly once."`
	NewText string `json:"new_text" jsonschema:"What to put in its place; empty deletes it."`
}

type editInput struct {
	Path   string     `json:"path" minlen:"1" maxlen:"1024" jsonschema:"The text file, relative to the served folder."`
	Edits  []textEdit `json:"edits" minitems:"1" maxitems:"100" jsonschema:"The replacements, made one after the other."`
	DryRun bool       `json:"dry_run,omitempty" default:"false" jsonschema:"Only check that the edits apply and return the result, without writing it."`
}

type editOutput struct {
	Path    string `json:"path" jsonschema:"The file."`
	Applied int    `json:"applied" jsonschema:"How many edits were made."`
	Written bool   `json:"written" jsonschema:"False for a dry run."`
	Content string `json:"content" jsonschema:"The text after the edits."`
}

type moveInput struct {
	Source      string `json:"source" minlen:"1" maxlen:"1024" jsonschema:"What to move or rename, relative to the served folder."`
	Destination string `json:"destination" minlen:"1" maxlen:"1024" jsonschema:"Its new path, including the name. Must not exist."`
}

type moveOutput struct {
	Source      string `json:"source" jsonschema:"The old path."`
	Destination string `json:"destination" jsonschema:"The new path."`
}

type createDirOutput struct {
	Path    string `json:"path" jsonschema:"The directory."`
	Created bool   `json:"created" jsonschema:"False when it existed already."`
}

type deleteInput struct {
	Path      string `json:"path" minlen:"1" maxlen:"1024" jsonschema:"What to delete, relative to the served folder."`
	Recursive bool   `json:"recursive,omitempty" default:"false" jsonschema:"Also delete a directory that is not empty, with everything in it."`
}

type deleteOutput struct {
	Path string `json:"path" jsonschema:"What was deleted."`
	Type string `json:"type" enum:"file,directory,symlink,other" jsonschema:"What it was."`
}

func (f *folder) addWriters(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "write_file", Title: "Write file", Effect: tool.Modifies,
		Description: "Write a file of up to 10 MiB: create it, replace it, or append to it. Replacing is atomic: readers see the old or the new file, never half of one. To change a part of a text file, edit_file is safer."}, f.writeFile)
	tool.Add(s, tool.Spec{Name: "edit_file", Title: "Edit file", Effect: tool.Modifies,
		Description: "Replace exact pieces of a text file. Each old_text must occur exactly once, otherwise nothing is written and the error says which edit failed. Use dry_run to look at the result first."}, f.editFile)
	tool.Add(s, tool.Spec{Name: "create_directory", Title: "Create directory", Effect: tool.Creates,
		Description: "Create a directory and its missing parents. A directory that exists already is fine; a file in the way is an error."}, f.createDir)
	tool.Add(s, tool.Spec{Name: "move_file", Title: "Move or rename", Effect: tool.Modifies,
		Description: "Move or rename a file or directory within the served folder. Fails if the destination exists; missing parent directories of the destination are an error too."}, f.move)
	tool.Add(s, tool.Spec{Name: "delete_file", Title: "Delete file or directory", Effect: tool.Deletes,
		Description: "Delete a file, a symbolic link (not what it points to) or an empty directory; with recursive also a directory with everything in it. This cannot be undone."}, f.deleteFile)
}

func (f *folder) writeFile(_ context.Context, in writeInput) (writeOutput, error) {
	content := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return writeOutput{}, fmt.Errorf("content is not base64: %w", err)
		}
	}
	_, err := f.root.Stat(in.Path)
	exists := err == nil
	switch {
	case exists && in.Mode == "create":
		return writeOutput{}, explain(in.Path, fs.ErrExist)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return writeOutput{}, explain(in.Path, err)
	}
	if exists { // also refuses to replace what is not a file
		before, err := f.read(in.Path)
		if err != nil {
			return writeOutput{}, err
		}
		if in.Mode == "append" {
			content = append(before, content...)
		}
	}
	if in.CreateParents {
		if err := f.root.MkdirAll(path.Dir(in.Path), 0o755); err != nil {
			return writeOutput{}, explain(path.Dir(in.Path), err)
		}
	}
	err = f.replace(in.Path, content)
	return writeOutput{Path: path.Clean(in.Path), SizeBytes: len(content), Created: !exists}, err
}

// replace writes a file completely or not at all.
func (f *folder) replace(name string, content []byte) error {
	if len(content) > maxFile {
		return fmt.Errorf("%d bytes are more than the limit of %d", len(content), maxFile)
	}
	return explain(name, atomicfile.WriteIn(f.root, path.Clean(name), content, 0o644))
}

func (f *folder) editFile(_ context.Context, in editInput) (editOutput, error) {
	text, err := f.readText(in.Path)
	if err != nil {
		return editOutput{}, err
	}
	for i, edit := range in.Edits {
		switch n := strings.Count(text, edit.OldText); n {
		case 1:
			text = strings.Replace(text, edit.OldText, edit.NewText, 1)
		case 0:
			return editOutput{}, fmt.Errorf("edit %d: old_text does not occur in %q; nothing was written", i+1, in.Path)
		default:
			return editOutput{}, fmt.Errorf("edit %d: old_text occurs %d times in %q; make it longer so that it is unique; nothing was written", i+1, n, in.Path)
		}
	}
	if !in.DryRun {
		if err := f.replace(in.Path, []byte(text)); err != nil {
			return editOutput{}, err
		}
	}
	return editOutput{Path: path.Clean(in.Path), Applied: len(in.Edits), Written: !in.DryRun, Content: text}, nil
}

func (f *folder) createDir(_ context.Context, in pathInput) (createDirOutput, error) {
	_, err := f.root.Stat(in.Path)
	existed := err == nil
	err = f.root.MkdirAll(in.Path, 0o755)
	return createDirOutput{Path: path.Clean(in.Path), Created: !existed}, explain(in.Path, err)
}

func (f *folder) move(_ context.Context, in moveInput) (moveOutput, error) {
	source, destination := path.Clean(in.Source), path.Clean(in.Destination)
	if _, err := f.root.Lstat(source); err != nil {
		return moveOutput{}, explain(in.Source, err)
	}
	if _, err := f.root.Lstat(destination); err == nil {
		return moveOutput{}, explain(in.Destination, fs.ErrExist)
	}
	return moveOutput{Source: source, Destination: destination}, explain(in.Destination, f.root.Rename(source, destination))
}

func (f *folder) deleteFile(_ context.Context, in deleteInput) (deleteOutput, error) {
	name := path.Clean(in.Path)
	if name == "." {
		return deleteOutput{}, errors.New("the served folder itself cannot be deleted")
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return deleteOutput{}, explain(in.Path, err)
	}
	if in.Recursive {
		err = f.root.RemoveAll(name)
	} else if err = f.root.Remove(name); err != nil && info.IsDir() {
		err = fmt.Errorf("directory %q is not empty; set recursive to delete it with everything in it", in.Path)
	}
	return deleteOutput{Path: name, Type: kind(info.Mode())}, explain(in.Path, err)
}
