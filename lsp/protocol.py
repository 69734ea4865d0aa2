"""What we say beyond the Language Server Protocol: names of notifications, requests and commands, and their shapes.

Shapes are those that existing clients send, where there are such. All lengths are in UTF-16 units.

editor to server
    textDocument/didFocus                      {textDocument: {uri}}       the status is about this one from now on
    textDocument/didShowCompletion             {item}
    textDocument/didPartiallyAcceptCompletion  {item, acceptedLength}      total, from the beginning of the item
    completer/didRejectCompletion              {item}
    completer/snooze                           {minutes}                   0 wakes up
    workspace/executeCommand                   completer.accept [id]       named by every item
server to editor
    completer/inlineCompletionChunk            {id, uri, insertText, done} insertText: all of the item, so far
    completer/didChangeStatus                  {busy, kind, message, command, source, k, acceptance, tokens_per_s}
                                               message: "ready" once the model is loaded and nothing is in its way
daemon to `completer lsp`
    completer/daemonStopping                   {}                          none is to be started until asked
anybody to the daemon, before `initialize`
    completer/daemonStatus                     -> {pid, version, state, connections, ...}
    completer/unloadModel                      -> once the memory is free
    completer/stopDaemon                       {onlyIfIdle} -> {stopping}
    completer/complete                         {request, planner} -> null, or {message} of what failed; both as JSON
                                               of our records, planner null for the daemon's own choice
daemon to who asked for completer/complete
    completer/completeChunk                    a CompletionChunk

Options of a connection, as initializationOptions or as the section `completer` of its configuration: lsp/options.py.
"""

PROTOCOL_MAJOR = 1
"""Changes when an old client and a new daemon, or the other way round, would not understand each other."""

ACCEPT_COMMAND = "completer.accept"
DID_FOCUS = "textDocument/didFocus"
DID_SHOW = "textDocument/didShowCompletion"
DID_PARTIALLY_ACCEPT = "textDocument/didPartiallyAcceptCompletion"
DID_REJECT = "completer/didRejectCompletion"
SNOOZE = "completer/snooze"
CHUNK = "completer/inlineCompletionChunk"
STATUS = "completer/didChangeStatus"
READY = "ready"
STOPPING = "completer/daemonStopping"
DAEMON_STATUS = "completer/daemonStatus"
UNLOAD_MODEL = "completer/unloadModel"
STOP_DAEMON = "completer/stopDaemon"
COMPLETE = "completer/complete"
COMPLETE_CHUNK = "completer/completeChunk"
