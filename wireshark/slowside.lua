-- Rows of `slowside calls` into fields of Wireshark's packets: whose time a call was, why, and which finding
-- has it among its cost; docs/wireshark.md says how to use it.
--
-- Wireshark does not tell a script which file is open. So a row is found by the time of a packet, to the
-- nanosecond, and shown only where the number of the frame is the row's too: rows of another file, or of a file
-- that was filtered since, are not shown. Of the rows only their places in the file are kept, some 80 bytes for
-- each packet that they name; a row is read when its packet is looked at. All of it is shown as text, nothing is
-- run. For Lua 5.2 (Wireshark up to 4.2) to 5.4.

local slowside = Proto("slowside", "slowside: whose time it was")
slowside.prefs.sidecar = Pref.string("Rows of slowside calls (CSV)", "",
    "What `slowside calls CAPTURE… > FILE` wrote. Empty: SLOWSIDE_SIDECAR, else as docs/wireshark.md says.")

-- More rows than that at one nanosecond are left out, so that no file makes a packet slow to show.
local ROWS_AT_A_TIME = 64
-- Rows that were looked at last stay parsed.
local ROWS_KEPT = 256
-- After so many packets that no row names the tree says so.
local SURE_AFTER = 50

-- The fields -------------------------------------------------------------------------------------------------

-- Of columns: field, kind, name, column. Times are shown, and compared by filters, in seconds.
local OF_COLUMNS = {
    { "side", "string", "Side (whose doing most of it was, for certain)", "side" },
    { "protocol", "string", "Protocol", "protocol" },
    { "op", "string", "Operation", "op" },
    { "id", "string", "Id", "id" },
    { "outcome", "string", "Outcome", "outcome" },
    { "response_time", "relative_time", "Response time", "response_time_ns" },
    { "request_transfer", "relative_time", "Request transfer", "request_transfer_ns" },
    { "wait", "relative_time", "Wait", "wait_ns" },
    { "response_transfer", "relative_time", "Response transfer", "response_transfer_ns" },
    { "network_out", "relative_time", "Network out", "network_out_ns" },
    { "at_server", "relative_time", "At the server", "server_ns" },
    { "network_back", "relative_time", "Network back", "network_back_ns" },
    { "client_response_lo", "relative_time", "The client waited at least", "client_response_lo_ns" },
    { "client_response_hi", "relative_time", "The client waited at most", "client_response_hi_ns" },
    { "request_bytes", "uint64", "Request (bytes)", "request_bytes" },
    { "response_bytes", "uint64", "Response (bytes)", "response_bytes" },
    { "outstanding", "uint32", "Outstanding when it was sent (calls)", "outstanding" },
    { "retransmits", "uint32", "Request sent again (times)", "retransmits" },
    { "in_diagnosis", "bool", "Judged by diagnose", "in_diagnosis" },
    { "detail", "string", "Detail (JSON)", "detail" },
}

local field = {
    packet = ProtoField.string("slowside.packet", "Packet"),
    finding = ProtoField.string("slowside.finding", "Finding that some of its time is of, for certain"),
    finding_side = ProtoField.string("slowside.finding_side", "Side of that time"),
    cause = ProtoField.string("slowside.cause", "Cause (of most of it, for certain)"),
    capture = ProtoField.string("slowside.capture", "Capture"),
    call = ProtoField.framenum("slowside.call", "Request in frame", base.NONE, frametype.REQUEST),
    response = ProtoField.framenum("slowside.response", "Response in frame", base.NONE, frametype.RESPONSE),
    line = ProtoField.string("slowside.line", "Held up by"),
    line_place = ProtoField.string("slowside.line.place", "Place"),
    line_side = ProtoField.string("slowside.line.side", "Side"),
    line_cause = ProtoField.string("slowside.line.cause", "Cause"),
    line_lo = ProtoField.relative_time("slowside.line.lo", "At least"),
    line_hi = ProtoField.relative_time("slowside.line.hi", "At most"),
    line_finding = ProtoField.string("slowside.line.finding", "Finding"),
    why = ProtoField.string("slowside.why", "Why slowside cut it out"),
    note = ProtoField.string("slowside.note", "Note"),
}
for _, f in ipairs(OF_COLUMNS) do
    field[f[1]] = ProtoField[f[2]]("slowside." .. f[1], f[3])
end
local all = {}
for _, f in pairs(field) do
    all[#all + 1] = f
end
slowside.fields = all

local frame_time = Field.new("frame.time_epoch")
local frame_comment = Field.new("frame.comment")

-- Text and numbers -------------------------------------------------------------------------------------------

local function harmless(text)
    return (text:gsub("%c", "."))
end

local function tell(text)
    io.stderr:write("slowside.lua: ", harmless(text), "\n")
end

-- Nanoseconds as text, without zeros before them: floating numbers of Lua 5.2 are too coarse.
local function nanoseconds(time)
    return (string.format("%d%09d", time.secs, time.nsecs):gsub("^0+(%d)", "%1"))
end

local function duration(ns)
    local sign, digits = ns:match("^(-?)(%d+)$")
    if not digits or #digits > 18 then
        return nil
    end
    local one = sign == "-" and -1 or 1
    local seconds = tonumber(digits:sub(1, -10)) or 0
    return NSTime.new(one * seconds, one * tonumber(digits:sub(-9)))
end

local function shown(ns)
    local n = tonumber(ns) or 0
    for _, unit in ipairs({ { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" } }) do
        if math.abs(n) >= unit[1] then
            return string.format("%.3g %s", n / unit[1], unit[2])
        end
    end
    return ns .. " ns"
end

local function whole(text, most)
    local n = text:match("^%d+$") and tonumber(text)
    return n and n <= most and n or nil
end

local READ = {
    string = harmless,
    relative_time = duration,
    uint32 = function(text) return whole(text, 4294967295) end,
    uint64 = function(text) return #text <= 15 and whole(text, 1e15) and UInt64(text) or nil end,
    bool = function(text) return text == "true" end,
}

-- The sidecar ------------------------------------------------------------------------------------------------

-- The cells of a row that begins with `line`. One in quotes may hold line ends: `more` reads on. Nil where its last
-- quotes are missing.
local function cells(line, more)
    local out, at = {}, 1
    while true do
        if line:byte(at) == 34 then
            local from = at + 1
            local close = from
            while true do
                close = line:find('"', close, true)
                if not close then
                    local next = more()
                    if not next then
                        return nil
                    end
                    close = #line + 1
                    line = line .. next
                elseif line:byte(close + 1) == 34 then
                    close = close + 2
                else
                    break
                end
            end
            out[#out + 1] = line:sub(from, close - 1):gsub('""', '"')
            at = close + 1
        else
            local stop = line:find("[,\r\n]", at) or #line + 1
            out[#out + 1] = line:sub(at, stop - 1)
            at = stop
        end
        if line:byte(at) ~= 44 then
            return out
        end
        at = at + 1
    end
end

-- What packets a row names: in the client's capture or the only one, and in the server's.
local PACKETS = {}
for _, prefix in ipairs({ "", "server_" }) do
    for _, which in ipairs({ "request first", "request last", "response first", "response last" }) do
        local name = prefix .. which:gsub(" ", "_")
        PACKETS[#PACKETS + 1] = { prefix = prefix, which = which, frame = name .. "_frame", ns = name .. "_ns" }
    end
end

local Sidecar = {}
Sidecar.__index = Sidecar

function Sidecar:row(offset)
    local row = self.kept[offset]
    if row == nil then
        self.file:seek("set", offset)
        local line = self.file:read("*L")
        local values = line and cells(line, function() return self.file:read("*L") end)
        row = false
        if values and #values == self.width then
            row = {}
            for name, i in pairs(self.columns) do
                row[name] = values[i]
            end
        end
        self.count = self.count + 1
        if self.count > ROWS_KEPT then
            self.kept, self.count = {}, 0
        end
        self.kept[offset] = row
    end
    return row
end

-- Which rows name the packet of this time and number, and as what. Second, whether any has its time.
function Sidecar:of_packet(ns, number)
    local at = self.at[tonumber(ns)]
    local found, same_time = {}, false
    for _, offset in ipairs(type(at) == "table" and at or { at }) do
        local row = self:row(offset)
        local named = {}
        for _, p in ipairs(row and PACKETS or {}) do
            if row[p.ns] == ns then
                same_time = true
                if row[p.frame] == number then
                    named[#named + 1] = p
                end
            end
        end
        if #named > 0 then
            found[#found + 1] = { row = row, named = named }
        end
    end
    return found, same_time
end

function Sidecar:remember(ns, offset)
    local at = self.at[ns]
    if at == nil then
        self.at[ns] = offset
    elseif type(at) == "number" then
        if at ~= offset then
            self.at[ns] = { at, offset }
        end
    elseif at[#at] ~= offset then
        if #at >= ROWS_AT_A_TIME then
            self.crowded = self.crowded + 1
        else
            at[#at + 1] = offset
        end
    end
end

-- Reads the first row, which says what the columns are. An error's text, if it is not what `calls` writes.
function Sidecar:head()
    local line = self.file:read("*L")
    if not line then
        return "is empty, or is no file"
    end
    if line:sub(1, 1) == "{" then
        return "has lines of JSON; slowside calls --format csv writes what is read here"
    end
    local names = cells(line:gsub("^\239\187\191", ""), function() end) or {}
    self.width = #names
    for i, name in ipairs(names) do
        self.columns[name] = i
    end
    for _, p in ipairs(PACKETS) do
        if p.prefix == "" and not (self.columns[p.frame] and self.columns[p.ns]) then
            return "is not what slowside calls --format csv writes: it has no column " .. p.ns
        end
    end
    if not self.columns.side then
        tell(self.path .. " was written by an older slowside: it does not say whose time a call was; write it again")
    end
end

-- The wanted columns of a row, up to the last of them, into `out`: whether that was easy. It is where cells in
-- quotes are of JSON, which ends before its quotes: `cells` takes five times as long.
local function easily(line, wanted, last, out)
    local at = 1
    for column = 1, last do
        local stop
        if line:byte(at) == 34 then
            stop = line:find('^"[{%[]', at) and line:find('[}%]]"[,\n]', at)
            stop = stop and stop + 2
        else
            stop = line:find("[,\n]", at)
        end
        if not stop then
            return false
        end
        if wanted[column] then
            out[column] = line:sub(at, stop - 1)
        end
        at = stop + 1
    end
    return line:byte(-1) == 10
end

-- Notes where the rows of each packet begin.
function Sidecar:index()
    local offset = self.file:seek()
    local wanted, last = {}, 0
    for _, p in ipairs(PACKETS) do
        local column = self.columns[p.ns]
        if column then
            wanted[column] = "time"
            last = math.max(last, column)
        end
    end
    local server = self.columns.server_capture
    if server then
        wanted[server] = "name"
    end
    local more = function() return self.file:read("*L") end
    local row, rows = {}, 0
    for line in more do
        rows = rows + 1
        if rows % 50000 == 0 then
            collectgarbage()
        end
        if not easily(line, wanted, last, row) then
            local values = cells(line, more)
            row = values and #values == self.width and values or nil
        end
        for column, what in pairs(row and wanted or {}) do
            local ns = what == "time" and tonumber(row[column])
            if ns then
                self:remember(ns, offset)
            end
        end
        local name = row and server and row[server] or ""
        if name ~= "" and name ~= self.server_capture then
            self.server_files = self.server_files + 1
            self.server_capture = name
        end
        if not row then
            self.damaged = self.damaged + 1
            row = {}
        end
        -- A row with zero bytes is longer than Lua 5.2 says.
        offset = self.file:seek()
    end
    collectgarbage()
end

-- Whether it is still the file that was read: its length and how it ends.
local function print_of(file)
    local length = file:seek("end")
    file:seek("set", math.max(0, (length or 0) - 4096))
    local tail = file:read("*a") or ""
    file:seek("set", 0)
    return length and length .. tail
end

local function open(path, before)
    local file = io.open(path, "rb")
    if not file then
        return nil, "cannot be read"
    end
    local print = print_of(file)
    if before and before.path == path and before.print == print then
        file:close()
        return before
    end
    if before then
        before.file:close()
    end
    local self = setmetatable({ path = path, file = file, print = print, columns = {}, at = {}, damaged = 0,
        crowded = 0, server_files = 0, kept = {}, count = 0 }, Sidecar)
    local wrong = self:head()
    if wrong then
        file:close()
        return nil, wrong
    end
    self:index()
    if self.damaged > 0 then
        tell(string.format("%s: %d rows are damaged and left out", path, self.damaged))
    end
    if self.crowded > 0 then
        tell(string.format("%s: %d rows of packets of the same nanosecond are left out", path, self.crowded))
    end
    return self
end

local function is_file(path)
    local file = io.open(path, "rb")
    local is = file and file:read(1) ~= nil
    if file then
        file:close()
    end
    return is
end

-- Where rows may lie, and whether somebody named them. Only Linux says which capture was named to Wireshark when
-- it was started; one that was opened later is not there.
local function places()
    local named = slowside.prefs.sidecar
    if named == nil or named == "" then
        named = os.getenv("SLOWSIDE_SIDECAR")
    end
    if named and named ~= "" then
        return { named }, true
    end
    local out = {}
    local arguments = io.open("/proc/self/cmdline", "rb")
    if arguments then
        for word in arguments:read("*a"):gmatch("[^%z]+") do
            local capture = word:gsub("^%-r", "")
            if capture ~= "" and is_file(capture) then
                out[#out + 1] = capture .. ".slowside.csv"
                out[#out + 1] = (capture:match("^(.*/)[^/]*$") or "") .. "slowside.csv"
            end
        end
        arguments:close()
    end
    out[#out + 1] = "slowside.csv"
    out[#out + 1] = Dir.personal_config_path("slowside.csv")
    return out, false
end

local sidecar
-- Packets that were looked at; that rows name; of whose time rows are, with other numbers; the last of them.
-- Wireshark looks at those that it shows, more than once, and at all of them only for a filter.
local packets, matched, moved, latest = 0, 0, 0, 0

function slowside.init()
    packets, matched, moved, latest = 0, 0, 0, 0
    local before = sidecar
    local candidates, named = places()
    sidecar = nil
    for _, path in ipairs(candidates) do
        if named or is_file(path) then
            local wrong
            sidecar, wrong = open(path, before)
            if wrong then
                tell(path .. " " .. wrong)
            end
            break
        end
    end
end

-- Why nothing is shown, where that is so.
local function nothing_fits()
    if not sidecar or packets == 0 or matched > 0 then
        return nil
    end
    local of = moved > 0 and "it has %d of its times with other frame numbers: it was filtered or merged since"
        or "it is of other captures"
    return string.format("none of %d packets is in %s: ", packets, sidecar.path)
        .. string.format(of, moved) .. "; run slowside calls on this file"
end

-- The tree ---------------------------------------------------------------------------------------------------

local function lines_of(ledger)
    local lines = {}
    for object in (ledger or ""):gmatch("{(.-)}") do
        local line = {}
        for name, text in object:gmatch('"([%l_]+)":"([%w-]+)"') do
            line[name] = text
        end
        for name, ns in object:gmatch('"([%l_]+)":(-?%d+)') do
            line[name] = ns
        end
        if line.place and line.side and line.cause and line.lo_ns then
            lines[#lines + 1] = line
        end
    end
    return lines
end

-- The cause of most of it: what is certain of its line is more than all that may be another's.
local function cause_of(lines)
    for _, line in ipairs(lines) do
        local most = true
        for _, other in ipairs(lines) do
            local hi = other.hi_ns and tonumber(other.hi_ns) or math.huge
            most = most and (other == line or tonumber(line.lo_ns) > hi)
        end
        if most then
            return line.cause
        end
    end
end

local function add(tree, name, value)
    if value ~= nil then
        return tree:add(field[name], value):set_generated()
    end
end

local function add_lines(tree, lines)
    for _, line in ipairs(lines) do
        local hi = line.hi_ns and (line.hi_ns == line.lo_ns and "" or " to " .. shown(line.hi_ns)) or " or more"
        local text = string.format("%s, %s: %s%s", line.side, line.cause, shown(line.lo_ns), hi)
        local below = add(tree, "line", text .. (line.finding and ", " .. line.finding or ""))
        add(below, "line_place", line.place)
        add(below, "line_side", line.side)
        add(below, "line_cause", line.cause)
        add(below, "line_lo", duration(line.lo_ns))
        add(below, "line_hi", line.hi_ns and duration(line.hi_ns))
        add(below, "line_finding", line.finding)
    end
end

-- Findings of its lines, each once, and the sides of these lines; that of most time first.
local function add_findings(tree, lines)
    local said = {}
    local function once(name, value)
        if not said[name .. value] then
            said[name .. value] = true
            add(tree, name, value)
        end
    end
    local told = {}
    for i, line in ipairs(lines) do
        local ns = tonumber(line.lo_ns)
        if line.finding and ns > 0 then
            told[#told + 1] = { line = line, ns = ns, i = i }
        end
    end
    table.sort(told, function(a, b) return a.ns > b.ns or (a.ns == b.ns and a.i < b.i) end)
    for _, t in ipairs(told) do
        once("finding", t.line.finding)
        once("finding_side", t.line.side)
    end
end

-- Which of its packets this is: "request" where one packet has all of it.
local function packet_of(named)
    local words = {}
    for _, p in ipairs(named) do
        words[#words + 1] = p.which
    end
    local text = table.concat(words, ", ")
    text = text:gsub("request first, request last", "request"):gsub("response first, response last", "response")
    return text
end

-- The file in which a row's packet is. Those of a server's capture have one name alone.
local function capture_of(row, prefix, which)
    if prefix == "server_" then
        return row.server_capture
    end
    local other = (row.detail or ""):match('"' .. which:gsub(" ", "_") .. '_capture":"(.-[^\\])"')
    return other and other:gsub('\\(["\\])', "%1") or row.capture
end

-- Links to request and response, where they lie in this file; else where they do.
local function add_links(tree, row, seen)
    local here = capture_of(row, seen.prefix, seen.which)
    for _, link in ipairs({ { "call", "request first" }, { "response", "response last" } }) do
        local name, which = link[1], link[2]
        local frame = row[seen.prefix .. which:gsub(" ", "_") .. "_frame"] or ""
        local file = capture_of(row, seen.prefix, which)
        local sure = seen.prefix == "" or sidecar.server_files == 1 or which == seen.which
        if frame ~= "" and file == here and sure then
            add(tree, name, whole(frame, 4294967295))
        elseif frame ~= "" then
            add(tree, "note", harmless(string.format("%s: frame %s of %s", which, frame,
                sure and file or "a file of the server's capture")))
        end
    end
end

local function add_call(root, found, renumbered)
    local row, named = found.row, found.named
    local took = row.response_time_ns or ""
    local title = string.format("slowside: %s of %s %s%s", packet_of(named), row.op or "", row.id or "",
        took ~= "" and ", " .. shown(took) or "")
    local tree = root:add(slowside, harmless(title))
    add(tree, "packet", packet_of(named))
    local lines = lines_of(row.ledger)
    add_findings(tree, lines)
    add(tree, "cause", cause_of(lines))
    for _, f in ipairs(OF_COLUMNS) do
        local text = row[f[4]]
        if text and text ~= "" then
            add(tree, f[1], READ[f[2]](text))
        end
    end
    add_lines(tree, lines)
    if not renumbered then
        add_links(tree, row, named[1])
    end
    local file = capture_of(row, named[1].prefix, named[1].which)
    add(tree, "capture", file and harmless(file))
    if row.side and row.side ~= "" then
        tree:append_text(", " .. harmless(row.side))
    end
    return tree
end

-- A comment of `slowside cut`: the packet's number before, and why it was cut out.
local function cut_comments()
    local out = {}
    for _, comment in ipairs({ frame_comment() }) do
        local number, why = tostring(comment.value):match("^frame (%d+) of .-: (.+)$")
        if number then
            out[#out + 1] = { number = number, why = why }
        end
    end
    return out
end

-- What a comment alone tells, where there are no rows.
local function add_comment(root, why)
    local tree = root:add(slowside, harmless("slowside: " .. why))
    for reason in (why .. "; "):gmatch("(.-); ") do
        local packet, id, op = reason:match("^(re%l+) of call (%S+) ([^,%s]+)")
        if packet == "request" or packet == "response" then
            add(tree, "packet", packet)
            add(tree, "id", harmless(id))
            add(tree, "op", harmless(op))
        end
        add(tree, "finding", reason:match("^finding %d+ ([%l%d-]+)"))
    end
    return tree
end

function slowside.dissector(_, pinfo, root)
    local comments = cut_comments()
    if not sidecar and #comments == 0 then
        return
    end
    local found, same_time, renumbered = {}, false, false
    if sidecar then
        local ns = nanoseconds(frame_time().value)
        found, same_time = sidecar:of_packet(ns, tostring(pinfo.number))
        for _, comment in ipairs(comments) do
            if #found == 0 then
                found = sidecar:of_packet(ns, comment.number)
                renumbered = #found > 0
            end
        end
        if pinfo.number > latest then
            latest = pinfo.number
            packets = packets + 1
            matched = matched + (#found > 0 and 1 or 0)
            moved = moved + (same_time and 1 or 0)
        end
    end
    for _, f in ipairs(found) do
        add_call(root, f, renumbered)
    end
    for _, comment in ipairs(comments) do
        local tree = #found == 0 and add_comment(root, comment.why) or root
        add(tree, "why", harmless(comment.why))
    end
    local nothing = packets >= SURE_AFTER and #comments == 0 and nothing_fits()
    if nothing then
        add(root:add(slowside, "slowside: nothing to show"), "note", harmless(nothing))
    end
end

register_postdissector(slowside)

-- At its end tshark says once if the rows are of something else; Wireshark does so in the tree, where people look.
if not gui_enabled() then
    local tap = Listener.new("frame")
    function tap.draw()
        local nothing = nothing_fits()
        if nothing then
            tell(nothing)
        end
    end
end
