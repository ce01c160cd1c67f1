package chat

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/setup"
)

// completeConversations offers the recent conversations.
func completeConversations(a *kit.App) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		const keepOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		r, err := recent.Open(a)
		if err != nil {
			return nil, keepOrder
		}
		list, err := r.Read()
		if err != nil {
			return nil, keepOrder
		}
		offers := make([]string, 0, len(list))
		for _, c := range list {
			offers = append(offers, c.ID+"\t"+setup.Clean(c.Title))
		}
		return offers, keepOrder
	}
}

// addCompletions offers values for the flags of chat.
func addCompletions(a *kit.App, cmd *cobra.Command) {
	kit.Complete(cmd, "system")
	kit.Complete(cmd, "timeout", "5m", "30m", "1h")
	for flag, f := range map[string]cobra.CompletionFunc{"model": a.CompleteModels, "conversation": completeConversations(a)} {
		if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
			panic("cli: " + err.Error()) // The flag is not there: a mistake in this package.
		}
	}
	_ = cmd.MarkFlagFilename("image", "png", "jpg", "jpeg", "gif", "webp") // The flag is there.
}
