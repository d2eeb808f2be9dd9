package azurite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain starts an emulator and hangs if a test runs this program again with AZTABLEKIT_TEST_HANG.
func TestMain(m *testing.M) {
	if os.Getenv("AZTABLEKIT_TEST_HANG") != "" {
		s, err := Start(context.Background())
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println(s.ConnectionString)
		select {}
	}
	os.Exit(m.Run())
}

func skipWithoutNode(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
}

// dial connects to the Table service of an emulator.
func dial(t testing.TB, connectionString string) net.Conn {
	t.Helper()
	m := regexp.MustCompile(`TableEndpoint=([^;]+)`).FindStringSubmatch(connectionString)
	if m == nil {
		t.Fatalf("got %s, want a TableEndpoint", connectionString)
	}
	u, err := url.Parse(m[1])
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// waitForHangup waits until the emulator closes the connection, which happens when its process ends.
func waitForHangup(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the emulator is running, want it to end within 30 seconds")
	}
}

// TestEmulatorEndsWithItsProcess: the emulator ends if the process that started it is killed.
func TestEmulatorEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	skipWithoutNode(t)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "AZTABLEKIT_TEST_HANG=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "failed") {
		t.Fatalf("got %q, %v, want a connection string", line, err)
	}
	c := dial(t, line)
	cmd.Process.Kill()
	cmd.Wait()
	waitForHangup(t, c)
}

func TestStopKeepsGivenEmulator(t *testing.T) {
	const cs = "AccountName=x"
	t.Setenv(Env, cs)
	s, err := Open(context.Background())
	if err != nil || s.ConnectionString != cs || s.PID() != 0 {
		t.Fatalf("got %+v, %v, want the connection string of %s and no process", s, err, Env)
	}
	s.Stop()
}

// TestWithoutNodeAndDocker: the error says what to install.
func TestWithoutNodeAndDocker(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(context.Background())
	if !errors.Is(err, ErrNoRuntime) || !strings.Contains(err.Error(), "Node.js") {
		t.Fatalf("got %v, want ErrNoRuntime with Node.js in its text", err)
	}
}

// fakeDocker makes a program docker the only one, which prints the output of Azurite, and runs until its input ends.
func fakeDocker(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--blobPort) echo "Azurite Blob service is successfully listening at http://0.0.0.0:$2" ;;
	--queuePort) echo "Azurite Queue service is successfully listening at http://0.0.0.0:$2" ;;
	--tablePort) echo "Azurite Table service is successfully listening at http://0.0.0.0:$2" ;;
	esac
	shift
done
read line
`
	if err := os.WriteFile(dir+"/docker", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

// TestConcurrentEmulators: emulators that start at once have different ports, and Stop ends each. That Azurite itself does so is seen by
// the packages of integration tests, which start one each.
func TestConcurrentEmulators(t *testing.T) {
	fakeDocker(t)
	var (
		wg  sync.WaitGroup
		all [3]*Server
	)
	for i := range all {
		wg.Go(func() {
			s, err := Start(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = s
		})
	}
	wg.Wait()
	ports := map[string]bool{}
	for _, s := range all {
		if s == nil {
			continue
		}
		for _, m := range regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindAllStringSubmatch(s.ConnectionString, -1) {
			ports[m[1]] = true
		}
		s.Stop()
		select {
		case <-s.exited:
		default:
			t.Error("the emulator is running; want it to end by Stop")
		}
	}
	if len(ports) != 3*len(all) {
		t.Errorf("got ports %v; want 3 of each emulator", ports)
	}
}

// TestDocker runs the command line of the container.
func TestDocker(t *testing.T) {
	fakeDocker(t)
	s, err := Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	args := s.cmd.Args
	if !slices.Contains(args, Image) || !slices.Contains(args, "--rm") {
		t.Errorf("got arguments %q, want %s and --rm", args, Image)
	}
	for _, service := range []string{"Blob", "Queue", "Table"} {
		port := args[slices.Index(args, "--"+strings.ToLower(service)+"Port")+1]
		if !strings.Contains(s.ConnectionString, service+"Endpoint=http://127.0.0.1:"+port+"/") {
			t.Errorf("got %s, want the %s endpoint on 127.0.0.1:%s", s.ConnectionString, service, port)
		}
		if !slices.Contains(args, "127.0.0.1:"+port+":"+port) {
			t.Errorf("got arguments %q, want port %s published on loopback", args, port)
		}
	}
}

func TestCollectEndpointsDiscardsLaterOutput(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	endpoints := make(chan map[string]string, 1)
	done := make(chan struct{})
	go func() { collectEndpoints(r, endpoints); close(done) }()
	for _, s := range []string{"Blob", "Queue", "Table"} {
		fmt.Fprintf(w, "Azurite %s service is starting at http://127.0.0.1:0\nAzurite %s service is successfully listening at http://127.0.0.1:1%d\n", s, s, len(s))
	}
	if at := <-endpoints; at["Table"] != "http://127.0.0.1:15" {
		t.Errorf("got %v, want the Table endpoint http://127.0.0.1:15", at)
	}
	fmt.Fprintln(w, strings.Repeat("x", 1<<20))
	w.Close()
	<-done
}

func TestEscapeNonASCII(t *testing.T) {
	t.Parallel()
	if got := string(escapeNonASCII([]byte(`{"a":"é日😀"}`))); got != `{"a":"\u00e9\u65e5\ud83d\ude00"}` {
		t.Errorf("got %s, want escaped characters", got)
	}
}
