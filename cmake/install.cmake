# What `cmake --install DIR --prefix /usr` puts where: programs, man pages, documents, the unit of
# systemd with its user, what Prometheus and Grafana read. The completion of dueqctl is in node/ctl.
#
# The unit has no path of ours in it, so that it serves /usr and /usr/local alike.

include(GNUInstallDirs)

install(TARGETS dueqctl dueq-node RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(PROGRAMS conf/redis/dueq-backup DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES doc/man/dueqctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES doc/man/dueq-node.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)

install(FILES conf/dueq.yaml LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
    PATTERN "*.svg" PATTERN man EXCLUDE PATTERN model EXCLUDE PATTERN decisions EXCLUDE)

install(FILES conf/systemd/dueq-node.service DESTINATION lib/systemd/system)
install(FILES conf/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME dueq.conf)
install(FILES conf/prometheus/alerts.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/dueq/prometheus)
install(FILES conf/grafana/dueq.json DESTINATION ${CMAKE_INSTALL_DATADIR}/dueq/grafana)

# The operator's own configuration: made once, never written over. A prefix of the system's has it
# in /etc, where the unit looks for it.
install(CODE "set(ours \"${CMAKE_CURRENT_SOURCE_DIR}/conf/systemd/dueq.yaml\")")
install(CODE [[
    set(etc "${CMAKE_INSTALL_PREFIX}/etc")
    if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
        set(etc "/etc")
    endif()
    if(NOT EXISTS "$ENV{DESTDIR}${etc}/dueq/dueq.yaml")
        file(INSTALL "${ours}" DESTINATION "${etc}/dueq")
    endif()
]])

# The links of the documents lead through the source tree. A file that is installed is linked where it
# was put; of a link to any other file only its words stay.
install(CODE "set(source \"${CMAKE_CURRENT_SOURCE_DIR}\")")
install(CODE "set(doc_dir \"${CMAKE_INSTALL_DOCDIR}\")")
install(CODE "set(data_dir \"${CMAKE_INSTALL_DATADIR}/dueq\")")
install(CODE [=[
    set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
    cmake_path(ABSOLUTE_PATH doc_dir BASE_DIRECTORY "${prefix}")
    cmake_path(ABSOLUTE_PATH data_dir BASE_DIRECTORY "${prefix}")
    string(ASCII 1 mark) # for "](": brackets in its items would break a list

    # Where a file of the source tree is installed; empty: nowhere.
    function(find_installed file result)
        set(found "")
        if(file MATCHES "^(doc|conf)/([^/]+[.](md|yaml)|(operations|plots)/.*)$")
            set(found "${doc_dir}/${CMAKE_MATCH_2}")
        elseif(file MATCHES "^conf/((prometheus|grafana)/.*)$")
            set(found "${data_dir}/${CMAKE_MATCH_1}")
        elseif(file STREQUAL "CHANGELOG.md")
            set(found "${doc_dir}/${file}")
        endif()
        if(NOT EXISTS "${found}")
            set(found "")
        endif()
        set(${result} "${found}" PARENT_SCOPE)
    endfunction()

    function(mend_link link page source_page result)
        string(REGEX REPLACE "^.[(]([^#)]*).*$" "\\1" target "${link}")
        string(REGEX MATCH "#[^)]*" anchor "${link}")
        cmake_path(GET source_page PARENT_PATH source_dir)
        cmake_path(GET page PARENT_PATH page_dir)
        cmake_path(ABSOLUTE_PATH target BASE_DIRECTORY "${source_dir}" NORMALIZE)
        cmake_path(RELATIVE_PATH target BASE_DIRECTORY "${source}")
        find_installed("${target}" there)
        if(there)
            cmake_path(RELATIVE_PATH there BASE_DIRECTORY "${page_dir}")
            string(REPLACE "${link}" "${mark}(${there}${anchor})" text "${text}")
        else()
            string(REGEX REPLACE "([().*+?^$|])" "\\\\\\1" pattern "${link}")
            string(REGEX REPLACE "!?[[]([^][]*)${pattern}" "\\1" text "${text}")
        endif()
        set(${result} "${text}" PARENT_SCOPE)
    endfunction()

    file(GLOB_RECURSE pages RELATIVE "${doc_dir}" "${doc_dir}/*.md")
    list(REMOVE_ITEM pages CHANGELOG.md)
    foreach(name IN LISTS pages)
        file(READ "${doc_dir}/${name}" text)
        string(REPLACE "](" "${mark}(" text "${text}")
        string(REGEX MATCHALL "${mark}[(][^) #][^) ]*[)]" links "${text}")
        list(REMOVE_DUPLICATES links)
        list(FILTER links EXCLUDE REGEX "^.[(][a-z]+:")
        foreach(link IN LISTS links)
            mend_link("${link}" "${doc_dir}/${name}" "${source}/doc/${name}" text)
        endforeach()
        string(REPLACE "${mark}(" "](" text "${text}")
        file(WRITE "${doc_dir}/${name}" "${text}")
    endforeach()
]=])
