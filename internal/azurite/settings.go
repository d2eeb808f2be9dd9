package azurite

import "errors"

// Env is the environment variable with the connection string of the emulator to use. If it is not
// set, Open starts an emulator.
const Env = "AZTABLEKIT_AZURITE"

// Flags are the arguments of Azurite everywhere in this project: in memory, without a request to
// the metadata address of the cloud.
var Flags = []string{"--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"}

// wrapper runs Azurite in a process that ends when its standard input ends. This process holds the
// other end of the pipe, so that Azurite ends with it, even after SIGKILL. AZURITE_MAIN is the path
// of the program, which node -e does not set.
const wrapper = `process.argv.splice(1, 0, "azurite");
process.stdin.on("end", () => process.exit(0)).resume();
require(process.env.AZURITE_MAIN);`

// ErrNoRuntime means that there is neither npm nor Docker. Its text says what to install.
var ErrNoRuntime = errors.New("azurite needs Node.js 20 or newer with npm, or Docker: install one of them, or set " + Env + " to the connection string of a running emulator")
