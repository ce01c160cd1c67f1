// Command official is OpenAI's own client for Go, as it comes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/ohgw/ohgw/e2e/go/protocol"
)

func main() {
	if err := protocol.Main(os.Stdin, os.Stdout, "github.com/openai/openai-go/v3", run, describe); err != nil {
		fmt.Fprintln(os.Stderr, "official:", err)
		os.Exit(1)
	}
}

func run(request protocol.Request, result *protocol.Result) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := openai.NewClient(
		option.WithBaseURL(request.BaseURL), option.WithAPIKey(request.Key),
		option.WithHTTPClient(result.Counting(request.Headers)),
	)
	switch {
	case request.Op == "models":
		page, err := client.Models.List(ctx)
		if err != nil {
			return err
		}
		for _, model := range page.Data {
			result.Models = append(result.Models, model.ID)
		}
		return nil
	case request.Stream:
		return stream(ctx, client, request, result)
	}
	completion, err := client.Chat.Completions.New(ctx, params(request))
	if err != nil {
		return err
	}
	choice := completion.Choices[0]
	result.Add(request, choice.Message.Content)
	result.Finish = choice.FinishReason
	result.Usage = usage(completion.Usage)
	return nil
}

// stream reads with the library's accumulator, which refuses chunks that do
// not belong together and adds up every usage it sees.
func stream(ctx context.Context, client openai.Client, request protocol.Request, result *protocol.Result) error {
	stream := client.Chat.Completions.NewStreaming(ctx, params(request))
	defer stream.Close()
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		chunk := stream.Current()
		if !whole.AddChunk(chunk) {
			return fmt.Errorf("the accumulator refuses %s", chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 && result.Add(request, chunk.Choices[0].Delta.Content) {
			return nil
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if whole.Choices[0].Message.Content != result.Text {
		return fmt.Errorf("the accumulator has %q, the chunks have %q", whole.Choices[0].Message.Content, result.Text)
	}
	result.Finish = whole.Choices[0].FinishReason
	if request.IncludeUsage {
		result.Usage = usage(whole.Usage)
	}
	return nil
}

func params(request protocol.Request) openai.ChatCompletionNewParams {
	message := openai.UserMessage(request.Prompt)
	if request.Image != "" {
		message = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart(request.Prompt),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: request.Image}),
		})
	}
	p := openai.ChatCompletionNewParams{Model: request.Model}
	if request.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(request.System))
	}
	p.Messages = append(p.Messages, message)
	if request.Stream && request.IncludeUsage {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	return p
}

func usage(u openai.CompletionUsage) *protocol.Usage {
	return &protocol.Usage{Prompt: int(u.PromptTokens), Completion: int(u.CompletionTokens), Total: int(u.TotalTokens)}
}

func describe(err error) *protocol.Error {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return &protocol.Error{
			Class: "openai.Error", Status: e.StatusCode, Code: e.Code, Param: e.Param, Type: e.Type, Message: e.Message,
		}
	}
	return &protocol.Error{Class: fmt.Sprintf("%T", err), Message: err.Error()}
}
