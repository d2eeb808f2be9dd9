package azurite

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Image is Azurite as docker-compose.yml runs it.
const Image = "mcr.microsoft.com/azure-storage/azurite:3.37.0"

// dockerCommand runs the same wrapper in a container: it listens inside on the ports that are published on loopback
// outside, so that what it prints needs only its host replaced.
func dockerCommand() (*exec.Cmd, func(string) string, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, nil, ErrNoRuntime
	}
	args := []string{"run", "--rm", "--interactive", "--entrypoint", "node", "--env", "AZURITE_MAIN=/opt/azurite/dist/src/azurite.js"}
	inside := append([]string{"-e", wrapper, "--"}, Flags...)
	for _, service := range []string{"blob", "queue", "table"} {
		port, err := freePort()
		if err != nil {
			return nil, nil, err
		}
		args = append(args, "--publish", fmt.Sprintf("127.0.0.1:%d:%d", port, port))
		inside = append(inside, "--"+service+"Host", "0.0.0.0", fmt.Sprintf("--%sPort", service), fmt.Sprint(port))
	}
	cmd := exec.Command(docker, append(append(args, Image), inside...)...)
	return cmd, func(s string) string { return strings.Replace(s, "//0.0.0.0:", "//127.0.0.1:", 1) }, nil
}

// freePort finds a port that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
