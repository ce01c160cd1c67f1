//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

var networkOperations = map[string]operation{
	"dial": {3, func(a []string) error { return dial(a[0], a[1], a[2]) }},
	"fastopen": {3, func(a []string) error {
		return anyOf(a[1], func(address string) error { return fastOpen(a[0], address, a[2]) })
	}},
	"mptcp": {2, func(a []string) error {
		return anyOf(a[0], func(address string) error { return multipath(address, a[1]) })
	}},
	"ping":     {1, func(a []string) error { return ping(a[0]) }},
	"socket":   {3, func(a []string) error { return socket(number(a[0]), number(a[1]), number(a[2])) }},
	"proxy":    {2, func(a []string) error { return byProxy(a[0], a[1]) }},
	"name":     {3, func(a []string) error { return byName(a[0], a[1], a[2]) }},
	"question": {3, func(a []string) error { return question(a[0], a[1], a[2]) }},
	"listen":   {4, func(a []string) error { return listen(strings.Split(a[0], ","), a[1], a[2], a[3]) }},
}

// listen takes ports of this machine, and says a text to all who connect. It says by a
// file that it listens, and ends when another file is there.
func listen(ports []string, text, ready, done string) error {
	var failed error
	taken := 0
	for _, port := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			failed = err
			continue
		}
		taken++
		defer func() { _ = ln.Close() }()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}
		}()
	}
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		return err
	}
	for end := time.Now().Add(patience / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Lstat(done); err != nil {
			continue
		}
		if taken == 0 {
			return failed
		}
		return nil
	}
	return errors.New("nobody outside has looked")
}

// wait is how long an answer may take where nothing answers if all is well.
const wait = 2 * time.Second

func dial(network, addresses, text string) error {
	return anyOf(addresses, func(address string) error { return dialOne(network, address, text) })
}

// anyOf makes the same attempt on several addresses.
func anyOf(addresses string, try func(address string) error) error {
	var errs []error
	for address := range strings.SplitSeq(addresses, ",") {
		errs = append(errs, try(address))
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
}

func dialOne(network, address, text string) error {
	if network == "mapped" {
		return dialMapped(address, text)
	}
	d := net.Dialer{Timeout: wait}
	d.SetMultipathTCP(false)
	conn, err := d.DialContext(context.Background(), network, address)
	if err != nil {
		return timedOut(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte(text))
	return err
}

// dialMapped connects to an IPv4 address by a socket for IPv6.
func dialMapped(address, text string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	return err
}

// timedOut makes a refusal of silence.
func timedOut(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("%w: %w", err, errRefused)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("%w: %w", err, errRefused)
	}
	return err
}

// target is an IPv4 address with a port, for the kernel.
func target(address string) (*unix.SockaddrInet4, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}, nil
}

// fastOpen sends data with the first packet, without connect.
func fastOpen(how, address, text string) error {
	to, err := target(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if how == "sendto" {
		return unix.Sendto(fd, []byte(text), unix.MSG_FASTOPEN, to)
	}
	return unix.Sendmsg(fd, []byte(text), nil, to, unix.MSG_FASTOPEN)
}

// multipath connects by MPTCP, whose protocol number rules for TCP do not know.
func multipath(address, text string) error {
	to, err := target(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	return err
}

// ping asks for an echo, by the socket that needs no rights.
func ping(host string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	to, err := target(host + ":0")
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 1, 0, 1}, 0, to)
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// byProxy asks the proxy of the sandbox for a host in the given spelling. Where
// there is no proxy, curl connects by itself.
func byProxy(host, text string) error {
	proxy := strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://")
	if proxy == "" {
		out, err := exec.Command("curl", "-sS", "-m", "2", "-o", "/dev/null", "http://"+host+"/"+text).CombinedOutput()
		fmt.Print(string(out))
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != 52 { // an empty answer is one
			return errRefused
		}
		return nil
	}
	conn, err := net.DialTimeout("tcp", proxy, wait)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience / 2)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	fmt.Println(resp.Status)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy says %s: %w", resp.Status, errRefused)
	}
	_, err = conn.Write([]byte(text))
	return err
}

// byName looks a name up and connects to it. The address in the sandbox's answer is not
// that of a host: what comes back from the connection says whether there was one.
func byName(host, port, text string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), wait)
	if err != nil {
		return timedOut(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience / 2))
	if _, err := fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", text, host); err != nil {
		return err
	}
	answer := make([]byte, 256)
	n, err := conn.Read(answer)
	fmt.Println(string(answer[:n]))
	if !strings.Contains(string(answer[:n]), "canary") {
		return fmt.Errorf("nobody of outside answers: %w: %w", errRefused, err)
	}
	return nil
}

// question asks a name server for a name.
func question(network, server, name string) error {
	asked, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return err
	}
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: asked, Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET}},
	}
	packed, err := message.Pack()
	if err != nil {
		return err
	}
	if network == "tcp" {
		packed = append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)
	}
	return dial(network, server, string(packed))
}
