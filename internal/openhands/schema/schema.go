// Package schema brings the text of a file of OpenHands to the form that one release
// of OpenHands writes: up to a newer one as that release does it when it loads the
// file, and down to an older one, which OpenHands has no code for.
//
// Each change of a schema number is a step of its own, with its way up and its way
// down. Fields that came or went without a new number are in a table. What a release
// has no member for is removed on the way down, and named as a Loss.
//
// It works on texts and reads no files. Members that no release knows stay as they
// are, and so does the spelling of everything else. A secret is moved or removed with
// its member, and never decrypted. No error and no Loss quotes a value.
package schema

import (
	"fmt"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// Result is a text in the form of a release.
type Result struct {
	Doc      *jsonedit.Doc
	Versions []Version
	Lost     []Loss
}

// Version is a schema number of an object, and the one that it gets.
type Version struct {
	Entry  string `json:"entry"`  // "$", "$.agent_settings" …
	Before *int64 `json:"before"` // nil when the object has none
	After  *int64 `json:"after"`
}

// Loss is a member that the release does not have, or cannot express.
type Loss struct {
	Field string `json:"field"` // "agent_settings.persona"
	Why   string `json:"why"`
}

// FieldError is a member with a value for which there is no step.
type FieldError struct{ Field, Msg string }

func (e *FieldError) Error() string { return e.Field + " " + e.Msg }

// NewerError is a schema number that is newer than all known ones.
type NewerError struct {
	Field        string
	Found, Known int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s is %d, newer than %d, the newest version that ohgw knows", e.Field, e.Found, e.Known)
}

// step leads from a schema number to the next one, and back.
type step struct {
	up, down func(*editor) // nil where only the number changes
}

// Settings converts settings.json to the form of a release.
func Settings(doc *jsonedit.Doc, to Release) (Result, error) {
	e := &editor{doc: doc, to: to}
	now := to.numbers()
	e.stamp(now.settings, newest.settings)
	e.within("agent_settings", func(e *editor) { e.walk(agentSteps, now.agent, 0) })
	e.within("conversation_settings", func(e *editor) { e.walk(conversationSteps, now.conversation, 0) })
	e.fit(settingsFields())
	e.within("agent_settings", func(e *editor) {
		fitServers(e)
		fitChoices(e)
		fitTools(e)
		e.within("llm", fitLLM)
	})
	return e.result()
}

// AgentProfile is a file of agent-profiles in the form of a release.
func AgentProfile(doc *jsonedit.Doc, to Release) (Result, error) {
	e := &editor{doc: doc, to: to}
	e.walk(agentProfileSteps, to.numbers().agentProfile, e.unnumbered())
	e.fit(agentProfileFields())
	fitChoices(e)
	fitTools(e)
	return e.result()
}

// LLMProfile is a file of profiles in the form of a release. Its schema number is the
// same in all releases.
func LLMProfile(doc *jsonedit.Doc, to Release) (Result, error) {
	e := &editor{doc: doc, to: to}
	e.fit(llmFields(nil))
	fitLLM(e)
	return e.result()
}
