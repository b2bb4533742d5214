package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
)

// TestHelpShowsEveryFlag checks that the help with --all and docs/reference/mcprun.md have every flag. A flag in no group would be missing.
func TestHelpShowsEveryFlag(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reference/mcprun.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--help", "--all"}, {"run", "--all", "-h"}, {"--all"}} {
		code, stdout, stderr := mcprun(t, args...)
		if code != 0 || stderr != "" {
			t.Errorf(`%v: exit code %d, stderr %q, want 0 and ""`, args, code, stderr)
		}
		newRoot(&cli.App{}, resources.Cold{}).Flags().VisitAll(func(f *pflag.Flag) {
			if !shows(stdout, f.Name) && f.Name != "all" && f.Name != "version" {
				t.Errorf("%v: --%s is missing", args, f.Name)
			}
			if !strings.Contains(string(docs), "--"+f.Name) {
				t.Errorf("docs/reference/mcprun.md does not have --%s, want %q in it", f.Name, "--"+f.Name)
			}
		})
		if !strings.Contains(stdout, "(default 500MB)") || !strings.Contains(stdout, "\nLimits:\n") {
			t.Errorf("%v, want \"(default 500MB)\" in it and %q in it:\n%s", args, "\nLimits:\n", stdout)
		}
	}
}

// TestHelpShowsUsualFlags checks that the help shows fifteen flags, and how to see the rest.
func TestHelpShowsUsualFlags(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {}} {
		code, stdout, stderr := mcprun(t, args...)
		_, list, _ := strings.Cut(stdout, "\nUsual flags:\n")
		list, rest, _ := strings.Cut(list, "\n\n")
		if n := strings.Count(list, "\n") + 1; code != 0 || stderr != "" || n != 15+len([]string{"--help", "--all"}) {
			t.Errorf("%v: exit code %d, %d usual flags, stderr %q:\n%s", args, code, n, stderr, stdout)
		}
		if !strings.Contains(rest, `--help --all" shows the other flags.`) || shows(stdout, "disk-files") {
			t.Errorf("%v:\n%s", args, stdout)
		}
	}
	if _, stdout, _ := mcprun(t, "doctor", "--help"); !shows(stdout, "no-speed") || strings.Contains(stdout, "Limits:") {
		t.Errorf("the help of doctor:\n%s", stdout)
	}
}

// shows reports whether a help lists the flag.
func shows(help, name string) bool {
	return strings.Contains(help, "--"+name+" ") || strings.Contains(help, "--"+name+"[=")
}
