package config

import (
	"errors"
	"net/url"
	"strings"
)

// State is the database that several gateways share.
type State struct {
	URL  string // of a Postgres database, without a password; "" for none
	File string // file with that URL, which may have a password; "" for none
	// Session is where the session goes by which others see that this gateway lives, if URL is
	// that of a pooler in transaction mode: the URL of the database itself, or [NoSession]; ""
	// where there is no pooler.
	Session string
}

// NoSession is the session of a gateway that has none: its signs of life are all that others see.
const NoSession = "off"

// Shared reports whether a database is set.
func (s State) Shared() bool { return s.URL != "" || s.File != "" }

// stateFields lists the settings of the database that several gateways share.
func stateFields() []Field {
	return []Field{
		{
			Flag: "state", Env: "OHGW_STATE", Key: "state", Arg: "URL", Section: StateSection,
			Help: "Postgres database that several gateways share, such as postgres://user@host/name", check: checkState, public: withoutPassword,
			at: func(c *Config) any { return &c.State.URL },
		},
		{
			Env: "OHGW_STATE_FILE", Key: "state_file", Arg: "FILE", Section: StateSection,
			Help: "file with the URL of that database, readable only by you", path: true,
			at: func(c *Config) any { return &c.State.File },
		},
		{
			Env: "OHGW_STATE_SESSION", Key: "state_session", Arg: "URL", Section: StateSection,
			Help: "URL of the database itself if state is that of a pooler in transaction mode, or off", check: checkSession, public: withoutPassword,
			at: func(c *Config) any { return &c.State.Session },
		},
	}
}

// errDatabase says what the URL of a database looks like.
var errDatabase = errors.New("use a URL such as postgres://user@host/name")

// withSecret marks a value that must not be shown, with a hint of its own.
type withSecret string

func (e withSecret) Error() string        { return string(e) }
func (e withSecret) Is(target error) bool { return target == errSecret }

const errPassword = withSecret("remove the password: set PGPASSFILE or PGPASSWORD, or put the whole URL into a private file and set state_file")

// checkState takes the URL of a database, which has no password.
func checkState(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		if strings.Contains(s, "@") || strings.Contains(s, "password") {
			return "", withSecret(errDatabase.Error()) // it may have one
		}
		return "", errDatabase
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return "", errPassword
	}
	return s, nil
}

// checkSession takes the URL of a database, or off.
func checkSession(s string) (string, error) {
	if s == NoSession {
		return s, nil
	}
	u, err := checkState(s)
	switch {
	case errors.Is(err, errDatabase):
		err = errors.New(errDatabase.Error() + ", or off")
	case errors.Is(err, errPassword):
		err = withSecret("remove the password: set PGPASSFILE or PGPASSWORD, or give the whole URL in OHGW_STATE_SESSION")
	}
	return u, err
}

// withoutPassword takes the password out of the URL of a database.
func withoutPassword(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return s
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	if q := u.Query(); q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// StateOrigin reports which of the settings names the database.
func (s *Settings) StateOrigin() Origin {
	if s.State.URL == "" {
		return s.Origin("state_file")
	}
	return s.Origin("state")
}
