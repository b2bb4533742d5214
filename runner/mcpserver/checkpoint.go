package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

var checkpointName = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_. -]{0,63}$`)

// maxCheckpoint bounds the data of a checkpoint, in bytes.
const maxCheckpoint = 1 << 20

type checkpointArgs struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// callCheckpoint saves, reads or lists checkpoints.
func callCheckpoint(ctx context.Context, c *toolCall, args *checkpointArgs) (*reply, error) {
	switch {
	case args.Name == "" && args.Data != nil:
		return nil, c.errorf("the data needs a name")
	case args.Name == "":
		return c.listCheckpoints(ctx)
	case !checkpointName.MatchString(args.Name):
		return nil, c.errorf("a name has up to 64 letters, digits, blanks and . _ -, and begins with a letter or a digit: not %.100q", args.Name)
	case args.Data == nil:
		return c.readCheckpoint(ctx, args.Name)
	case len(args.Data) > maxCheckpoint:
		return nil, c.errorf("data has %d bytes; at most %d.%s", len(args.Data), maxCheckpoint,
			c.advise(" Put it into a file with %s, and its name here.", "write_workspace_file"))
	}
	text, err := json.Marshal(customer.Saved{Name: args.Name, Time: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Data: args.Data})
	if err != nil {
		return nil, c.errorf("the data cannot be written: %v", err)
	}
	file := checkpointFile(args.Name)
	if err := c.writeFile(ctx, file, string(text)+"\n"); err != nil {
		return nil, err
	}
	return &reply{text: "saved " + args.Name, data: map[string]any{"name": args.Name, "file": file}}, nil
}

func checkpointFile(name string) string { return path.Join(customer.SavedFolder, name+".json") }

// readCheckpoint reads a checkpoint. Scripts write these files too, so any JSON object with data is accepted.
func (c *toolCall) readCheckpoint(ctx context.Context, name string) (*reply, error) {
	root, err := c.openWorkspace()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file := checkpointFile(name)
	text, _, err := readStart(root, file, 2*maxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.errorf("there is no checkpoint %q; without arguments checkpoint lists all", name)
	}
	if err != nil {
		return nil, c.errorf("%v", hidePath(err))
	}
	if err := c.reads(ctx, file); err != nil {
		return nil, err
	}
	var saved customer.Saved
	if err := json.Unmarshal(text, &saved); err != nil || saved.Data == nil {
		return nil, c.errorf("%s is not a checkpoint: a JSON object with name, time and data", file)
	}
	saved.Name = name
	out, err := compactJSON(saved)
	if err != nil {
		return nil, c.errorf("%s cannot be read: %v", file, err)
	}
	return &reply{text: out, data: json.RawMessage(out)}, nil
}

// listCheckpoints lists the checkpoints, the most recently saved last.
func (c *toolCall) listCheckpoints(ctx context.Context) (*reply, error) {
	root, err := c.openWorkspace()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := safeopen.ReadDir(root, customer.SavedFolder, maxEntries)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, c.errorf("%v", hidePath(err))
	}
	type row struct {
		Name  string    `json:"name"`
		Time  time.Time `json:"time"`
		Bytes int64     `json:"bytes"`
	}
	list := []row{}
	var files []string
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		info, err := e.Info()
		if isJSON && err == nil && info.Mode().IsRegular() && checkpointName.MatchString(name) {
			list = append(list, row{name, info.ModTime().UTC().Truncate(time.Second), info.Size()})
			files = append(files, checkpointFile(name))
		}
	}
	if err := c.reads(ctx, files...); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b row) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name)) })
	rows := make([]string, len(list))
	for i, r := range list {
		rows[i] = fmt.Sprintf("%s (%s, %d bytes)", r.Name, r.Time.Format(time.RFC3339), r.Bytes)
	}
	if len(rows) == 0 {
		rows = []string{"there are no checkpoints yet"}
	}
	if len(entries) == maxEntries {
		rows = append(rows, fmt.Sprintf("[only the first %d]", maxEntries))
	}
	return &reply{text: strings.Join(rows, "\n"), data: map[string]any{"checkpoints": list}}, nil
}
