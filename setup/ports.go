package setup

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/internal/secret"
)

// ReservedPorts are the ports of ohgw on this machine, which the agent's programs
// may never reach: the usual one, and that of the settings.
func ReservedPorts(s *config.Settings) []uint16 {
	ports := []uint16{localport.OHGW}
	if port := portOf(s.Addr); port != 0 && !slices.Contains(ports, port) {
		ports = append(ports, port)
	}
	return ports
}

// SoughtPorts lists the ports of this machine where ohgw looks for servers, or sends
// requests by its settings: the usual ones, and those that a setting, a variable or an LLM
// profile names. A program of the agent that listened there would be taken for such a
// server, and would get what is meant for it.
func SoughtPorts(ctx context.Context, env *Env, s *config.Settings) []uint16 {
	ports := localport.Sought()
	for _, port := range localport.Sought() {
		ports = append(ports, portOf(env.UsualAddress(net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))))
	}
	places := []string{s.AgentServer.LLM.BaseURL, s.Client.URL, s.Cloud.URL}
	for _, address := range s.AgentServer.URLs {
		places = append(places, strings.TrimPrefix(address, "dns+"))
	}
	for _, name := range baseVariables() {
		places = append(places, env.Getenv(name))
	}
	for _, place := range append(places, profileURLs(ctx, env)...) {
		ports = append(ports, localPort(place))
	}
	slices.Sort(ports)
	return slices.DeleteFunc(slices.Compact(ports), func(port uint16) bool { return port == 0 })
}

// profileURLs lists where the LLM profiles send their requests. Profiles that cannot be
// read send none.
func profileURLs(ctx context.Context, env *Env) []string {
	store, err := env.ProfileStore(0)
	if err != nil {
		return nil
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil
	}
	urls := make([]string, 0, len(list))
	for _, p := range list {
		urls = append(urls, p.BaseURL, p.Subject().Endpoint)
	}
	return urls
}

// baseVariables are the variables with the address of a model server or of a proxy.
func baseVariables() []string {
	names := []string{
		"OLLAMA_HOST", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
	}
	for _, p := range secret.Providers() {
		names = append(names, p.Bases...)
	}
	return names
}

// localPort is the port of an address on this machine, with or without a scheme; 0 for
// any other text.
func localPort(place string) uint16 {
	if place = strings.TrimSpace(place); place == "" {
		return 0
	}
	if !strings.Contains(place, "://") {
		place = "http://" + place
	}
	u, err := url.Parse(place)
	if err != nil || !loopback.Host(u.Hostname()) && u.Hostname() != "0.0.0.0" && u.Hostname() != "::" && u.Hostname() != "" {
		return 0
	}
	return portOf(u.Host)
}

// portOf is the port of HOST:PORT; 0 if there is none.
func portOf(address string) uint16 {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}
