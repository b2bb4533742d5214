package index

import (
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

func TestTextSaysWhatToolsShareOnce(t *testing.T) {
	s := catalog.Server{Key: "desk", Dir: "desk"}
	lock := &catalog.Lock{Servers: map[string]catalog.LockServer{"desk": {Tools: map[string]catalog.LockTool{}}}}
	for i := range 4 {
		name := fmt.Sprintf("t%d", i)
		s.Tools = append(s.Tools, catalog.Tool{Name: name, Description: fmt.Sprintf("This tool belongs to the trading desk. Does %d.", i)})
		lock.Servers["desk"].Tools[name] = catalog.LockTool{Names: map[string]catalog.LockNames{"typescript": {Function: name}}}
	}
	cat := &catalog.Catalog{Servers: []catalog.Server{s}}
	for budget, want := range map[int]string{
		100: "\nServers and tools:\ndesk (This tool belongs to the trading desk): t0 t1 t2 t3",
		16:  "\nServers and tools:\ndesk: t0 t1 t2 t3",
		6:   "\nServers: desk",
	} {
		if got := Text(cat, lock, "typescript", budget); got != want {
			t.Errorf("Text() in %d tokens = %q, want %q", budget, got, want)
		}
	}
}
