package azurite

import "errors"

// Env names the environment variable that holds the connection string of an emulator to use instead of an own one.
const Env = "AZTABLEKIT_AZURITE"

// Flags are how Azurite is run everywhere in this project: in memory, without a look at the cloud's metadata address.
var Flags = []string{"--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"}

// wrapper runs Azurite in a process that ends when its standard input does. The pipe's other end is ours, so that it ends
// with us even on SIGKILL. AZURITE_MAIN names the program, for node -e gives it no path of its own.
const wrapper = `process.argv.splice(1, 0, "azurite");
process.stdin.on("end", () => process.exit(0)).resume();
require(process.env.AZURITE_MAIN);`

// ErrNoRuntime says what to install where neither npm nor Docker is found.
var ErrNoRuntime = errors.New("azurite needs Node.js 20 or newer with npm, or Docker: install one of them, or set " + Env + " to the connection string of a running emulator")
