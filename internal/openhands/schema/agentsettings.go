package schema

import (
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The members that the steps work on.
const (
	kindMember   = "agent_kind"
	acpKind      = "acp"
	openHands    = "openhands"
	oldOpenHands = "llm" // of settings before OpenHands 1.19
)

// agentSteps are those of agent_settings; the first one leads from 0 to 1.
var agentSteps = []step{
	{up: addKind},
	{up: renameKind},
	{up: dropConfirmation},
	{up: canonicalLLM},
	{up: serverMap},
	{up: dropModifyParams},
	{up: dropACPModel},
	{up: foldSwitches, down: unfoldSwitches},
	{up: dropSwitches},
}

// conversationSteps are those of conversation_settings.
var conversationSteps = []step{{}}

func (e *editor) isACP() bool { return e.text(kindMember) == acpKind }

func addKind(e *editor) {
	if !e.get(kindMember).Exists() {
		e.set(jsonedit.Quote(openHands), kindMember)
	}
}

func renameKind(e *editor) {
	if e.text(kindMember) == oldOpenHands {
		e.set(jsonedit.Quote(openHands), kindMember)
	}
}

// dropConfirmation removes what conversation_settings have since OpenHands 1.17.
func dropConfirmation(e *editor) {
	for _, name := range []string{"confirmation_mode", "security_analyzer"} {
		e.delete("verification", name)
	}
}

// canonicalLLM writes a model of OpenHands' own proxy in its present form.
func canonicalLLM(e *editor) {
	model := e.text("llm", "model")
	if model == "" {
		return
	}
	d := canon.Embedded().Decide(canon.Entry{Model: model, URL: canon.URLOf(e.get("llm", "base_url")), Tolerant: true})
	if d.Action != canon.Migrate {
		return
	}
	if d.Model != model {
		e.set(jsonedit.Quote(d.Model), "llm", "model")
	}
	if d.DropURL {
		e.delete("llm", "base_url")
	}
}

func dropModifyParams(e *editor) { e.delete("llm", "modify_params") }

// dropACPModel removes the LLM that an agent of another program had for the bill only.
func dropACPModel(e *editor) {
	if e.isACP() && e.get("llm").Exists() {
		e.delete("llm")
		e.lose("agents of other programs have no LLM any more", "llm")
	}
}

// dropSwitches deletes switches of settings whose number says that they have none.
// They mean nothing.
func dropSwitches(e *editor) {
	e.delete(subAgents)
	e.delete(switchLLM)
	dropACPModel(e)
}
