package tui

import "context"

func runPlain(ctx context.Context, cfg Config) error { return ctx.Err() }
