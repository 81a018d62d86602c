# fish completion for evctl and all its programs. Everything comes from `PROGRAM --complete`.
function __evctl_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l now (commandline -ct)
    set -l plain (string unescape -- "$now"; or string trim -l -c \'\" -- "$now")
    # What is before the value in --option=value, and the value.
    set -l lead (string match -r -- '^--[^=]*=' "$plain")
    set -l value (string replace -r -- '^--[^=]*=' '' "$plain")
    for line in ($program --complete $words "$plain" 2>/dev/null)
        switch $line
            case ':file'
                __evctl_paths "$lead" (__fish_complete_path "$value")
            case ':dir'
                __evctl_paths "$lead" (__fish_complete_directories "$value")
            case '*'
                echo $line
        end
    end
end

function __evctl_paths
    for path in $argv[2..-1]
        echo $argv[1]$path
    end
end

for program in evctl evctl-{apply,artifact,batch,bind,buyer,conn,cred,doctor,expert,host,log,mcp,node,run,serve,session,state,verify}
    complete -c $program -f -a '(__evctl_complete)'
end
