package agentserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/secret"
)

// DirectLLM reads the LLM of a profile with its secrets in the clear, for a call that
// the gateway makes itself: the server makes none without an agent. Those of
// Config.Secrets take the place of the profile's own. It fails with ErrUnsupported for
// a profile with a provider connection, whose key only the server knows.
//
// The value is the JSON object of the LLM, as in a profile file.
func (b *Backend) DirectLLM(ctx context.Context, profile string) (secret.Value, error) {
	server, err := b.info(ctx)
	if err != nil {
		return secret.Value{}, err
	}
	read := b.directLLM
	if server.version < sinceProfiles {
		read = b.ownLLM
	}
	llm, err := read(ctx, profile)
	if err != nil {
		return secret.Value{}, err
	}
	data, err := json.Marshal(llm)
	if err != nil {
		return secret.Value{}, fmt.Errorf("encode LLM: %w", err)
	}
	return secret.New(string(data)), nil
}

func (b *Backend) directLLM(ctx context.Context, profile string) (object, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := b.info(limited)
	if err != nil {
		return nil, err
	}
	if profile, err = b.llmOf(limited, info.version, profile); err != nil {
		return nil, err
	}
	llm, err := b.profileConfig(limited, profile, exposeCleartext)
	if err != nil {
		return nil, b.fault(ctx, "read its LLM profile", err)
	}
	if llm.text("provider_connection_id") != "" {
		return nil, unsupported("Only the agent-server knows the key of a profile with a provider connection.")
	}
	return llm, b.equip(ctx, profile, llm)
}

// ownLLM is the LLM of our own config.
func (b *Backend) ownLLM(_ context.Context, profile string) (object, error) {
	start := startRequest{}
	if err := b.launchOwn(0, agentapi.OpenRequest{Profile: profile}, &start); err != nil {
		return nil, err
	}
	return start.Agent.object("llm"), nil
}
