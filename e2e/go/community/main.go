// Command community is the client for Go by Sasha Baranov, as it comes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/ohgw/ohgw/e2e/go/protocol"
)

func main() {
	if err := protocol.Main(os.Stdin, os.Stdout, "github.com/sashabaranov/go-openai", run, describe); err != nil {
		fmt.Fprintln(os.Stderr, "community:", err)
		os.Exit(1)
	}
}

func run(request protocol.Request, result *protocol.Result) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := openai.DefaultConfig(request.Key)
	config.BaseURL = request.BaseURL
	config.HTTPClient = result.Counting(request.Headers)
	client := openai.NewClientWithConfig(config)
	switch {
	case request.Op == "models":
		list, err := client.ListModels(ctx)
		if err != nil {
			return err
		}
		for _, model := range list.Models {
			result.Models = append(result.Models, model.ID)
		}
		return nil
	case request.Stream:
		return stream(ctx, client, request, result)
	}
	completion, err := client.CreateChatCompletion(ctx, body(request))
	if err != nil {
		return err
	}
	if len(completion.Choices) == 0 { // it does not notice that the body breaks off
		return errors.New("a completion without choices")
	}
	choice := completion.Choices[0]
	result.Add(request, choice.Message.Content)
	result.Reasoning = choice.Message.ReasoningContent
	result.Finish = string(choice.FinishReason)
	result.Usage = usage(completion.Usage)
	return nil
}

func stream(ctx context.Context, client *openai.Client, request protocol.Request, result *protocol.Result) error {
	stream, err := client.CreateChatCompletionStream(ctx, body(request))
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if chunk.Usage != nil {
			result.Usage = usage(*chunk.Usage)
		}
		for _, choice := range chunk.Choices {
			result.Reasoning += choice.Delta.ReasoningContent
			if choice.FinishReason != "" {
				result.Finish = string(choice.FinishReason)
			}
			if result.Add(request, choice.Delta.Content) {
				return nil
			}
		}
	}
}

func body(request protocol.Request) openai.ChatCompletionRequest {
	message := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: request.Prompt}
	if request.Image != "" {
		message.Content = ""
		message.MultiContent = []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: request.Prompt},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: request.Image}},
		}
	}
	b := openai.ChatCompletionRequest{Model: request.Model}
	if request.System != "" {
		b.Messages = append(b.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: request.System})
	}
	b.Messages = append(b.Messages, message)
	if request.Stream && request.IncludeUsage {
		b.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return b
}

func usage(u openai.Usage) *protocol.Usage {
	return &protocol.Usage{Prompt: u.PromptTokens, Completion: u.CompletionTokens, Total: u.TotalTokens}
}

func describe(err error) *protocol.Error {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		d := &protocol.Error{Class: "openai.APIError", Status: e.HTTPStatusCode, Type: e.Type, Message: e.Message}
		d.Code, _ = e.Code.(string)
		if e.Param != nil {
			d.Param = *e.Param
		}
		return d
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return &protocol.Error{Class: "openai.RequestError", Status: e.HTTPStatusCode, Message: e.Error()}
	}
	return &protocol.Error{Class: fmt.Sprintf("%T", err), Message: err.Error()}
}
