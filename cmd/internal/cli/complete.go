package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Words lists what a shell offers to complete a word. After an error it offers nothing: a shell has no place for messages.
type Words func() ([]string, error)

// plainWord matches text that every shell reads as one word. Server names come from whoever wrote the configuration, and a shell
// would execute one such as $(command).
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@/+-]*$`)

func (list Words) plain() []string {
	words, err := list()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(words, func(word string) bool { return !plainWord.MatchString(word) })
}

// CompleteArgs completes up to most arguments, each word once. Zero means any number.
func CompleteArgs(most int, list Words) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words := slices.DeleteFunc(list.plain(), func(word string) bool { return slices.Contains(args, word) })
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlag completes the value of a flag that cmd has.
func CompleteFlag(cmd *cobra.Command, flag string, list Words) {
	complete := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list.plain(), cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag, or it has a completion already
	}
}

// completeChoices completes the values of flags whose type lists them, as in off|auto, for root and all commands below it.
func completeChoices(root *cobra.Command) {
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if choices := strings.Split(f.Value.Type(), "|"); len(choices) > 1 {
			CompleteFlag(root, f.Name, FixedWords(choices...))
		}
	})
	for _, cmd := range root.Commands() {
		completeChoices(cmd)
	}
}

// FixedWords always offers the same words.
func FixedWords(words ...string) Words {
	return func() ([]string, error) { return slices.Clone(words), nil }
}
