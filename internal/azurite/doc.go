// Package azurite provides Azurite, the emulator of Azure Storage, to the tests and to the
// catalogue of recipes.
//
// [Open] uses the emulator of the connection string in the environment variable AZTABLEKIT_AZURITE.
// If the variable is not set, Open starts an emulator in memory on free loopback ports. Any number
// of emulators can run at once. Open never connects to an emulator on the default ports, which may
// contain data of other programs. An emulator that Open started ends with the process, even if the
// process is killed.
//
// Azurite comes from npm, in the versions of the lock file in npm/, and is stored in the user's
// cache folder. The command ./install downloads it ahead of time. Without npm, Azurite runs in
// Docker.
package azurite
