// Package manpages writes the manual pages of our programs. Only the programs' tests import it, so that no program contains the
// page generator. make man keeps the pages that the tests write.
package manpages

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// Variable is the environment variable that names the folder for the pages. Without it they are written to a temporary folder of the test.
const Variable = "MCPGEN_MAN"

// Write writes a page for each command of a program, and fails the test if one is missing.
func Write(t *testing.T, root *cobra.Command) {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root.InitDefaultCompletionCmd()
	texts := textsOf(root)
	escape(root, map[*pflag.Flag]bool{})
	root.DisableAutoGenTag = true // pages must not depend on the date
	if err := doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Header: &doc.GenManHeader{Section: "1", Source: root.Name()}, Path: dir, CommandSeparator: "-",
	}); err != nil {
		t.Fatal(err)
	}
	for page, words := range texts {
		check(t, filepath.Join(dir, page), words)
	}
}

// textsOf returns the words that the page of each command must have, by file name.
func textsOf(cmd *cobra.Command) map[string][]string {
	all := map[string][]string{}
	text := cmd.Short + " " + cmd.Long + " " + cmd.Example
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			text += " " + f.Usage
		}
	})
	all[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = strings.Fields(strings.ReplaceAll(text, "`", ""))
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			maps.Copy(all, textsOf(sub))
		}
	}
	return all
}

// escape escapes characters in help texts that have a meaning in Markdown, because cobra treats these texts as Markdown:
// crm__query_records would lose its underscores. done holds the flags that are escaped already, because commands share inherited
// flags.
func escape(cmd *cobra.Command, done map[*pflag.Flag]bool) {
	cmd.Short, cmd.Long = escapeText(cmd.Short), escapeText(cmd.Long)
	each := func(f *pflag.Flag) {
		if !done[f] {
			done[f] = true
			f.Usage = escapeText(f.Usage)
		}
	}
	cmd.Flags().VisitAll(each)
	cmd.PersistentFlags().VisitAll(each)
	for _, sub := range cmd.Commands() {
		escape(sub, done)
	}
}

var special = strings.NewReplacer(`\`, `\\`, "_", `\_`, "*", `\*`, "<", `\<`, "&", `\&`, "[", `\[`, "~", `\~`)

// escapeText escapes a text except code: what is between backquotes, and lines that four spaces or a tab indent.
func escapeText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		parts := strings.Split(line, "`")
		for j := 0; j < len(parts); j += 2 {
			parts[j] = special.Replace(parts[j])
		}
		lines[i] = strings.Join(parts, "`")
	}
	return strings.Join(lines, "\n")
}

var roff = regexp.MustCompile(`\\f[BIPR]|\\&`)

// check fails the test if a page is missing or has lost a word.
func check(t *testing.T, page string, words []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Errorf("a command has no page: %v", err)
		return
	}
	plain := strings.ReplaceAll(roff.ReplaceAllString(string(text), ""), `\\`, `\`)
	for _, word := range words {
		if heading := strings.Trim(word, "#") == ""; !heading && !strings.Contains(plain, word) {
			t.Errorf("%s: got no %q, which the help of the command has", filepath.Base(page), word)
		}
	}
}
