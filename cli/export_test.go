package cli

// MainWith is Main in a world that change has changed.
func MainWith(change func(*Env), args []string) int {
	env := systemEnv()
	change(env)
	return run(env, args)
}
