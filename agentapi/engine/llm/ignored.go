package llm

import (
	"strings"

	"github.com/ohgw/ohgw/internal/optional"
)

// Ignored names the fields of a profile that are set and have no effect in the
// embedded engine, though they have one in OpenHands. All others work.
func Ignored(p Profile) []string {
	var out []string
	add := func(set bool, name string) {
		if set {
			out = append(out, name)
		}
	}
	const defaultMaxMessageChars = 30_000
	bedrock := strings.HasPrefix(p.Model, "bedrock/")
	// AWS logins that need requests of their own.
	add(bedrock && optional.Or(p.AWSProfile, "") != "", "aws_profile_name")
	add(bedrock && optional.Or(p.AWSRole, "") != "", "aws_role_name")
	add(bedrock && optional.Or(p.AWSSession, "") != "", "aws_session_name")
	add(p.MaxMessageChars != defaultMaxMessageChars, "max_message_chars")
	// Only the model's provider is ever asked for an image.
	add(optional.Or(p.InlineImageURLs, false), "inline_image_urls")
	// Conversations are written to their own files only.
	add(p.LogCompletions, "log_completions")
	// Tokens are counted by the provider.
	add(optional.Or(p.CustomTokenizer, "") != "", "custom_tokenizer")
	add(p.FallbackStrategy != nil && p.FallbackStrategy.StoreDir != "", "fallback_strategy.profile_store_dir")
	add(p.AuthType == "subscription" || p.IsSubscription, "auth_type")
	return out
}
