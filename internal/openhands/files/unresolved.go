package files

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
)

// unresolved is what a recipe refers to and is not there.
type unresolved struct {
	llm      *string
	servers  []string
	meta     *string
	metaLLMs []string
}

func (u unresolved) problems() (list []string) {
	if u.llm != nil {
		list = append(list, "LLM profile '"+*u.llm+"' not found")
	}
	if len(u.servers) > 0 {
		list = append(list, "MCP server(s) not configured: "+joined(u.servers))
	}
	if u.meta != nil {
		list = append(list, "Meta-profile '"+*u.meta+"' not found")
	}
	if len(u.metaLLMs) > 0 {
		list = append(list, "LLM profile(s) routed to by the meta-profile not found: "+joined(u.metaLLMs))
	}
	return list
}

// refuse names all of it at once, as OpenHands does.
func (u unresolved) refuse(problems []string) error {
	msg := strings.Join(problems, "; ")
	return &openhands.Error{Kind: openhands.Invalid, Msg: msg, Detail: map[string]any{
		"code": "unresolved_profile_references", "message": msg,
		"dangling_llm_profile_ref": u.llm, "dangling_mcp_server_refs": u.servers,
		"dangling_meta_profile_ref": u.meta, "dangling_meta_profile_llm_refs": u.metaLLMs,
	}}
}

// unlaunchable explains why the LLM profile of a recipe cannot be used, in OpenHands'
// form.
func unlaunchable(name string, err error) error {
	why, ok := errors.AsType[*openhands.Error](err)
	if !ok || why.Kind != openhands.Invalid {
		return err
	}
	msg := fmt.Sprintf("LLM profile '%s': %s", name, why.Msg)
	return &openhands.Error{Kind: openhands.Invalid, Msg: msg, Detail: map[string]any{"code": "invalid_agent_launch", "message": msg}, Err: err}
}

func isNotFound(err error) bool {
	missing, ok := errors.AsType[*openhands.Error](err)
	return ok && missing.Kind == openhands.NotFound
}
