/* `objects` messages: there and back, at their bounds, and what is none. */
#include "tests/support/control_case.h"

/* At most 6 things; a message of the longest names and numbers fits, and says the same again. */
TEST(test_objects)
{
#define THING(more)                                                                               \
    "{\"op\":\"objects\",\"objects\":[{\"id\":3,\"object\":\"mug\",\"state\":\"lost\","           \
    "\"submap\":1,\"pose\":[0,0,0,1,1,2,3],\"box\":[-1,-2,-3,1,2,3],\"score\":0.5,\"support\":1," \
    "\"seq\":7,\"revision\":9" more "}]}"
    struct control_message m = {.op = CONTROL_OBJECTS, .objects = {.n = CONTROL_OBJECTS_MAX}}, back;
    char text[CONTROL_TEXT_MAX], again[CONTROL_TEXT_MAX];
    size_t n;

    for (int i = 0; i < CONTROL_OBJECTS_MAX; i++) {
        struct control_object *o = &m.objects.at[i];

        *o = (struct control_object){.id = UINT32_MAX - (unsigned)i,
                                     .state = (enum control_object_state)(i % 3),
                                     .submap = 255,
                                     .score = 0.3333f,
                                     .support = 0.6667f,
                                     .seq = 9007199254740991,
                                     .revision = 9007199254740991};
        memset(o->object, 'o', sizeof o->object - 1);
        memset(o->class_name, 'c', sizeof o->class_name - 1);
        for (int k = 0; k < 7; k++)
            o->pose[k] = k < 4 ? -0.4999999f : -99999.9999f + (float)i;
        for (int k = 0; k < 6; k++)
            o->box[k] = -9.8765f;
    }
    n = control_write(text, sizeof text, &m);
    assert_true(n > 0);
    assert_int_equal(control_parse(&back, text, n, NULL), 0);
    assert_int_equal(back.objects.n, CONTROL_OBJECTS_MAX);
    assert_int_equal(control_write(again, sizeof again, &back), n);
    assert_string_equal(again, text);
    assert_int_equal(back.objects.at[5].state, CONTROL_OBJECT_LOST);
    assert_int_equal(control_parse(&back, THING(""), strlen(THING("")), NULL), 0);
    assert_true(back.objects.at[0].class_name[0] == '\0' && back.objects.at[0].box[5] == 3);
    assert_int_equal(control_parse(&back, THING(",\"new\":1"), strlen(THING(",\"new\":1")), NULL),
                     0);
    expect_wrong("{\"op\":\"objects\"}", "/objects");
    expect_wrong("{\"op\":\"objects\",\"objects\":[]}", "/objects");
    expect_wrong("{\"op\":\"objects\",\"objects\":[1]}", "/objects");
    expect_wrong("{\"op\":\"objects\",\"objects\":[{},{},{},{},{},{},{}]}", "/objects");
    expect_wrong("{\"op\":\"objects\",\"objects\":[{}]}", "/objects/0/id");
    expect_wrong("{\"op\":\"objects\",\"objects\":[{\"id\":0,\"object\":\"mug\",\"state\":\"new\","
                 "\"submap\":1,\"pose\":[0,0,0,1,1,2,3],\"box\":[-1,-2,-3,1,2,3],\"score\":0.5,"
                 "\"support\":1,\"seq\":7,\"revision\":9}]}",
                 "/objects/0/id");
    expect_wrong("{\"op\":\"objects\",\"objects\":[{\"id\":1,\"object\":\"mug\",\"state\":\"gone\","
                 "\"submap\":1,\"pose\":[0,0,0,2,1,2,3],\"box\":[-1,-2,-3,1,2,3],\"score\":0.5,"
                 "\"support\":1,\"seq\":7,\"revision\":9}]}",
                 "/objects/0/state");
#undef THING
}
