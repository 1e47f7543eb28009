// Package completion has the command det completion, which prints the script that a shell needs to
// complete verbs, flags and IDs.
package completion

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

const long = `Prints a script with which a shell completes det's verbs, flags and IDs.

  bash    det completion bash > ~/.local/share/bash-completion/completions/det
  zsh     det completion zsh > "${fpath[1]}/_det"
  fish    det completion fish > ~/.config/fish/completions/det.fish

To try it in the current shell: source <(det completion bash)`

// New returns the command det completion.
func New(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:                   "completion {bash|zsh|fish}",
		Short:                 "print the completion script of a shell",
		Long:                  long,
		DisableFlagsInUseLine: true,
		ValidArgs:             []string{"bash", "zsh", "fish"},
		Args:                  args.Exactly("the name of a shell: bash, zsh or fish"),
		RunE: func(cmd *cobra.Command, given []string) error {
			root := cmd.Root()
			switch given[0] {
			case "bash":
				return root.GenBashCompletionV2(a.IO.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.IO.Out)
			case "fish":
				return root.GenFishCompletion(a.IO.Out, true)
			}
			return args.Wrong(cmd, "no completion for %q; there is one for bash, zsh and fish", given[0])
		},
	}
}
