package pii

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

const (
	// placeVariable makes the binary of the tests use a vault in a database, as the task says.
	placeVariable = "PII_VAULT_PLACE"
	taskVariable  = "PII_VAULT_TASK"

	taskShare = "share" // see useVault
	taskAdd   = "add"   // see addValues
	taskMove  = "move:" // followed by the path of the file

	helperValues = 40
)

func openPlace(place string) (store.Store, error) {
	if strings.Contains(place, "://") {
		return postgres.Open(context.Background(), place)
	}
	return sqlite.Open(context.Background(), place, sqlite.Options{})
}

func openVaultIn(place string) (*Vault, error) {
	s, err := openPlace(place)
	if err != nil {
		return nil, err
	}
	return OpenVault(context.Background(), s, testCustomer, testKey, testOwner)
}

// child does the task of a process that helper has started, and ends it.
func child() {
	place, ok := os.LookupEnv(placeVariable)
	if !ok {
		return
	}
	task, err := os.Getenv(taskVariable), error(nil)
	switch path, moves := strings.CutPrefix(task, taskMove); {
	case moves:
		err = moveAndAdd(place, path)
	case task == taskAdd:
		err = addValues(place)
	default:
		err = useVault(place)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func helper(t *testing.T, place, task string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), placeVariable+"="+place, taskVariable+"="+task)
	return cmd
}

// useVault lets two goroutines, each with the database open, tokenize the same values as all other helpers, and prints the tokens.
func useVault(place string) error {
	var all sync.WaitGroup
	got, errs := make([]string, helperValues), make([]error, 2)
	for i := range errs {
		all.Go(func() {
			v, err := openVaultIn(place)
			for n := i; n < helperValues && err == nil; n += 2 {
				value := fmt.Sprintf("u%d@example.com", n)
				if got[n], _, err = v.Tokenize(value); err != nil {
					break
				}
				if back, failed := v.Restore(got[n]); back != value {
					err = fmt.Errorf("%s comes back as %s, %v", value, back, failed)
				}
			}
			errs[i] = err
		})
	}
	all.Wait()
	fmt.Println(strings.Join(got, " "))
	return errors.Join(errs...)
}

// addValues adds values for ever, one or many at a time, and prints each with its token when the vault has it.
func addValues(place string) error {
	v, err := openVaultIn(place)
	for n := 0; err == nil; n++ {
		var values []string
		for i := range 1 + rand.IntN(3) {
			values = append(values, fmt.Sprintf("p%d-%d-%d@example.com", os.Getpid(), n, i))
		}
		var out string
		if out, _, err = v.Tokenize(strings.Join(values, " ")); err == nil {
			for i, token := range strings.Fields(out) {
				fmt.Println(values[i], token)
			}
		}
	}
	return err
}

// testProcesses lets processes tokenize the same values at once, and then kills processes that add values.
func testProcesses(t *testing.T, place string) {
	outs := make([]string, 4)
	var all sync.WaitGroup
	for i := range outs {
		all.Go(func() {
			cmd := helper(t, place, taskShare)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("a helper: %v", err)
			}
			outs[i] = string(out)
		})
	}
	all.Wait()
	distinct := slices.Sorted(slices.Values(strings.Fields(outs[0])))
	if len(slices.Compact(distinct)) != helperValues {
		t.Errorf("%d values have the tokens %q", helperValues, outs[0])
	}
	for _, out := range outs[1:] {
		if out != outs[0] {
			t.Errorf("%q and %q for the same values", outs[0], out)
		}
	}
	v, err := openVaultIn(place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.store.Close() })
	if n := len(v.ledger.entries); n != helperValues {
		t.Errorf("the vault has %d values, want %d", n, helperValues)
	}

	times := 50
	if testing.Short() {
		times = 5
	}
	added := map[string]string{} // values by token
	for range times / 2 {
		var lists [2][]string
		for i := range lists {
			all.Go(func() { lists[i] = killAdder(t, place, 1+rand.IntN(20)) })
		}
		all.Wait()
		for _, line := range slices.Concat(lists[:]...) {
			value, token, _ := strings.Cut(line, " ")
			if other, ok := added[token]; ok {
				t.Fatalf("%s stands for %s and %s", token, other, value)
			}
			added[token] = value
		}
	}
	again, err := openVaultIn(place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.store.Close() })
	for token, value := range added {
		for _, v := range []*Vault{v, again} {
			if got, err := v.Restore(token); got != value {
				t.Fatalf("%s is %s, %v after processes were killed, want %s", token, got, err, value)
			}
		}
	}
	t.Logf("%d values in %d lines", len(again.ledger.entries), again.number)
}

// killAdder starts a process that adds values, kills it after it has reported n, and returns what it has reported.
func killAdder(t *testing.T, place string, n int) (reported []string) {
	cmd := helper(t, place, taskAdd)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil { // half a line does not count
			break
		}
		if reported = append(reported, strings.TrimSpace(line)); len(reported) == n {
			_ = cmd.Process.Kill() // what it has reported until then is still in the pipe
		}
	}
	_ = cmd.Wait()
	if len(reported) < n {
		t.Errorf("a helper ended: %s", said.String())
	}
	return reported
}

func TestProcesses(t *testing.T) { testProcesses(t, filepath.Join(t.TempDir(), "state.db")) }
