// Command responses is what programs do with the Responses API, through OpenAI's
// own client for Go. It reads an ask as JSON from stdin, and prints what came of
// it as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const (
	write = `[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]`
	read  = `[[tool terminal {"command":"test \"$(cat note.txt)\" = tea"}]] then [[finish Read.]]`
	slow  = `[[slow 400 100ms]]`
	fail  = `[[fail 401]]`
)

// ask is the gateway to talk to.
type ask struct {
	BaseURL string `json:"base_url"`
	Key     string `json:"api_key"`
	Model   string `json:"model"`
}

// result is what came of it.
type result struct {
	Texts     []string `json:"texts"`
	Same      bool     `json:"same"`    // all turns were in one conversation
	Last      string   `json:"last"`    // type of the last event of the stream
	Numbers   bool     `json:"numbers"` // the events are numbered from 0 on
	Rest      bool     `json:"rest"`    // a stream that goes on does so after its number
	Stored    string   `json:"stored"`
	Input     bool     `json:"input"` // the list of what was asked has the question
	Cancelled string   `json:"cancelled"`
	Failed    string   `json:"failed"`
	Deleted   string   `json:"deleted"`
	Metadata  []string `json:"metadata"` // of a conversation, as created and as changed
	Items     []string `json:"items"`    // the first and the last text of its messages
	Gone      string   `json:"gone"`     // the answer after its deletion
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "responses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var a ask
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil {
		return err
	}
	p := program{ask: a, client: openai.NewClient(option.WithBaseURL(a.BaseURL), option.WithAPIKey(a.Key))}
	for _, step := range []func(context.Context) error{p.turns, p.events, p.background, p.failures, p.conversations} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(p.result)
}

type program struct {
	ask
	result

	client        openai.Client
	first, second *responses.Response
}

func (p *program) params(text, previous string) responses.ResponseNewParams {
	params := responses.ResponseNewParams{Model: p.Model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}}
	if previous != "" {
		params.PreviousResponseID = openai.String(previous)
	}
	return params
}

// turns writes a file and reads it in the next turn.
func (p *program) turns(ctx context.Context) error {
	var err error
	if p.first, err = p.client.Responses.New(ctx, p.params(write, "")); err != nil {
		return err
	}
	stream := p.client.Responses.NewStreaming(ctx, p.params(read, p.first.ID))
	defer stream.Close()
	var second responses.Response
	p.Numbers = true
	for n := int64(0); stream.Next(); n++ {
		e := stream.Current()
		p.Numbers = p.Numbers && e.SequenceNumber == n
		p.Last, second = e.Type, e.Response
	}
	if err := stream.Err(); err != nil {
		return err
	}
	p.second = &second
	p.Texts = []string{p.first.OutputText(), second.OutputText()}
	p.Same = p.first.Conversation.ID == second.Conversation.ID && second.Conversation.ID != ""
	return nil
}

// events reads a response again: as an object, from its middle on, and its input.
func (p *program) events(ctx context.Context) error {
	stored, err := p.client.Responses.Get(ctx, p.second.ID, responses.ResponseGetParams{})
	if err != nil {
		return err
	}
	p.Stored = stored.OutputText()
	stream := p.client.Responses.GetStreaming(ctx, p.second.ID, responses.ResponseGetParams{StartingAfter: openai.Int(3)})
	defer stream.Close()
	p.Rest = stream.Next() && stream.Current().SequenceNumber == 4
	items := p.client.Responses.InputItems.ListAutoPaging(ctx, p.second.ID, responses.InputItemListParams{})
	for items.Next() {
		for _, part := range items.Current().AsMessage().Content {
			p.Input = part.Text == read
		}
	}
	return errors.Join(stream.Err(), items.Err())
}

func (p *program) background(ctx context.Context) error {
	params := p.params(slow, "")
	params.Background = openai.Bool(true)
	res, err := p.client.Responses.New(ctx, params)
	if err != nil {
		return err
	}
	cancelled, err := p.client.Responses.Cancel(ctx, res.ID)
	if err != nil {
		return err
	}
	p.Cancelled = string(cancelled.Status)
	return nil
}

func (p *program) failures(ctx context.Context) error {
	// On a machine so slow that the answer has begun already, a failure breaks it
	// off; the next call has the same failure.
	for range 3 {
		_, err := p.client.Responses.New(ctx, p.params(fail, ""))
		if p.Failed = describe(err); strings.HasPrefix(p.Failed, "5") {
			break
		}
	}
	if err := p.client.Responses.Delete(ctx, p.second.ID); err != nil {
		return err
	}
	_, err := p.client.Responses.Get(ctx, p.second.ID, responses.ResponseGetParams{})
	p.Deleted = describe(err)
	return nil
}

func (p *program) conversations(ctx context.Context) error {
	all := p.client.Conversations
	made, err := all.New(ctx, conversations.ConversationNewParams{
		Items:    []responses.ResponseInputItemUnionParam{said("My tea is green.")},
		Metadata: shared.Metadata{"who": "e2e"},
	})
	if err != nil {
		return err
	}
	if err := p.items(ctx, made.ID); err != nil {
		return err
	}
	changed, err := all.Update(ctx, made.ID, conversations.ConversationUpdateParams{Metadata: shared.Metadata{"who": "you"}})
	if err != nil {
		return err
	}
	for _, c := range []*conversations.Conversation{made, changed} {
		who, _ := c.Metadata.(map[string]any)["who"].(string)
		p.Metadata = append(p.Metadata, who)
	}
	if _, err := all.Delete(ctx, made.ID); err != nil {
		return err
	}
	_, err = all.Get(ctx, made.ID)
	p.Gone = describe(err)
	return nil
}

// items adds a message and removes it, and asks the agent in the conversation.
func (p *program) items(ctx context.Context, id string) error {
	items := p.client.Conversations.Items
	added, err := items.New(ctx, id, conversations.ItemNewParams{Items: []responses.ResponseInputItemUnionParam{said("And hot.")}})
	if err != nil {
		return err
	}
	hot, err := items.Get(ctx, id, added.Data[0].ID, conversations.ItemGetParams{})
	if err != nil {
		return err
	}
	if _, err := items.Delete(ctx, id, hot.ID); err != nil {
		return err
	}
	params := p.params(write, "")
	params.Conversation = responses.ResponseNewParamsConversationUnion{OfString: openai.String(id)}
	if _, err := p.client.Responses.New(ctx, params); err != nil {
		return err
	}
	var texts []string
	pages := items.ListAutoPaging(ctx, id, conversations.ItemListParams{Order: conversations.ItemListParamsOrderAsc, Limit: openai.Int(2)})
	for pages.Next() {
		if item := pages.Current(); item.Type == "message" {
			texts = append(texts, item.AsMessage().Content[0].Text)
		}
	}
	if len(texts) > 0 {
		p.Items = []string{texts[0], texts[len(texts)-1]}
	}
	return pages.Err()
}

func said(text string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

func describe(err error) string {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return fmt.Sprintf("%d %s", e.StatusCode, e.Code)
	}
	return fmt.Sprint(err)
}
