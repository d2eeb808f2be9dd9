package azurite

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Image is the Docker image of Azurite, the same as in docker-compose.yml.
const Image = "mcr.microsoft.com/azure-storage/azurite:3.37.0"

// dockerCommand returns the command that runs Azurite in a container. Azurite listens on the same
// ports inside and outside of the container, so that only the host of the endpoints in its output
// must be replaced.
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

// freePort returns a port that is free at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
